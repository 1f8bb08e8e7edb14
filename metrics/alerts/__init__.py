"""Alerts: what Prometheus tells, what the console finds out by itself, who is told, and what is silenced."""
