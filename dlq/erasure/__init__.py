"""Erasing one person's data: every message whose payload has a value at a path, wherever its payload is kept.

`target` says what is meant, `locations` where it is looked for, `batches` do it, `erasures` is the entry point.
"""
