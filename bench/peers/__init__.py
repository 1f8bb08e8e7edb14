"""Other queues on PostgreSQL, installed beside the benchmark for as long as it runs."""
