"""Payloads: their JSON as it is written and read, bytes, and bodies that are too large for a row."""
