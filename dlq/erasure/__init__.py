"""Erasures of one person's data: all messages that have a value at a path, in every location that keeps payloads.

`target` matches documents, `locations` lists where they are kept, `batches` erases, `erasures` is the entry point.
"""
