"""Metrics, health, diagnosis and alerts from the queues' counters."""
