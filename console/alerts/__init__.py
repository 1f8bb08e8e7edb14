"""Alerts, silences, notifications and runbooks."""
