"""Masking: the rules, and documents with masked values."""
