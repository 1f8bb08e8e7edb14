"""Benchmark of the client: the worker, and sends from Python."""
