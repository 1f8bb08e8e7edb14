"""Benchmark of the HTTP API, compared with a bare ASGI endpoint that runs the same SQL."""
