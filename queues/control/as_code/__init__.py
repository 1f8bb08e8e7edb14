"""Configuration as code: what queues should be, in a file; what would change; and changing it, whole or not at all."""
