"""Benchmark of other queues on PostgreSQL, installed beside the benchmark while it runs."""
