"""Grafana dashboards: YAML sources, the components they are built from, and the built JSON that people import."""
