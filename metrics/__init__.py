"""What the queues' counters say: metrics, history, diagnosis and alerts."""
