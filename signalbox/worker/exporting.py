"""What a worker measures of its own calls, for Prometheus, on a port of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from signalbox import durations
from signalbox.errors import InvalidArgument

HIGHEST_PORT = 65_535


def check(port: int | None) -> None:
    """Refuse what is no port, and any port where prometheus-client is not installed."""
    if port is None:
        return
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port <= HIGHEST_PORT:
        raise InvalidArgument(f"metrics_port must be from 1 to {HIGHEST_PORT}", field="metrics_port")
    if not durations.KEPT:
        raise InvalidArgument("metrics_port needs prometheus-client, which is not installed", field="metrics_port")


@contextmanager
def exported(port: int | None) -> Iterator[None]:
    """While the body runs, `/metrics` is served on this port; None: on none."""
    if port is None:
        yield
        return
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry()
    registry.register(durations.collector())
    server, thread = start_http_server(port, registry=registry)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
