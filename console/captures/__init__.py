"""Captured tables: what is captured into which stream, and the end of a capture."""
