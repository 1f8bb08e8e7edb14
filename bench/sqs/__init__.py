"""Benchmark of the SQS endpoint, compared with the HTTP API: batches of ten, and polls that wait."""
