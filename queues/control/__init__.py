"""The control plane: queues, quotas, streams, renaming, maintenance and configuration as code."""
