"""Purges, deletions, the trash that both fill, and restoring from it."""
