"""Benchmark of the engine beside a textbook queue in one server: the cost of a message, and its growth."""
