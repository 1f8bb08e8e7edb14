"""Benchmark of the HTTP API beside a bare ASGI endpoint that runs the same SQL."""
