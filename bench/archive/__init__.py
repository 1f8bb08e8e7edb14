"""Benchmark of the data pipeline beside plain tools that export the same rows once."""
