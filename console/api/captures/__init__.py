"""Captures of tables over HTTP."""
