"""Benchmark of the data pipeline, compared with plain tools that export the same rows once."""
