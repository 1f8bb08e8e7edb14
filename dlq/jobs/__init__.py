"""Jobs: work over many messages that outlives a click. Models, lifecycle, runner and approvals."""
