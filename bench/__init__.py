"""Measures the engine beside a textbook queue in the same server: what a message costs, and how that cost grows."""
