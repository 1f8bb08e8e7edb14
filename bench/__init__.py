"""Benchmark of the engine and a textbook queue in one server: the cost of a message, and how it grows."""
