"""Configuration as code: a YAML file declares queues, a plan lists the changes, one transaction applies them."""
