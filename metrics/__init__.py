"""What the queues' counters say: metrics, health, dashboards."""

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' text format, as every version of Prometheus reads it."""


def exposition() -> bytes:
    """Every metric in Prometheus' text format, at most five seconds old; CONTENT_TYPE is its type."""
    from metrics.snapshot import snapshot  # the models behind it exist only once Django has loaded the apps

    return snapshot.exposition()
