"""Handlers: their names, their registry, and what they may decide."""
