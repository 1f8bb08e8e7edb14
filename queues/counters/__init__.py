"""Numbers of queues: depth, age, durations, leases and message groups."""
