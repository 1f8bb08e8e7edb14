"""Alerts: the rules, the alerts that Prometheus and Signalbox find, notifications and silences."""
