"""Erasing one person's data: every message whose payload has a value at a path, wherever its payload is kept.

`target` says what is meant, `walks` where it is looked for, `batches` do it, `erasures` is the door, `inventory` lists
every column that could keep a payload, and what becomes of it.
"""
