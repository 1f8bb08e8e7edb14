"""Purges, deletions, and the trash that both fill."""
