"""Captured tables: the list, a new capture, and the end of a capture."""
