"""Benchmark of other queues on PostgreSQL, which are installed for the run only."""
