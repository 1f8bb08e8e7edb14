"""Alerts, silences, channels, notifications and runbooks."""
