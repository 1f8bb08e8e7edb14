"""The metrics as the text that Prometheus reads."""
