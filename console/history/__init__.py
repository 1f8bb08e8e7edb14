"""History pages: charts of a queue, a tenant or all queues over a time range."""
