"""Exports: rows read in batches, and written as NDJSON or CSV."""
