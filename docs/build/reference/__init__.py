"""Generators of the reference: each makes pages or parts of pages from one list in the code."""
