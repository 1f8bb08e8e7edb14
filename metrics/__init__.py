"""What the queues' counters say: metrics, health, dashboards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metrics.pages import Answer

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' text format, as every version of Prometheus reads it."""


# The models behind these exist only once Django has loaded the apps, so each imports when it is called.


def exposition() -> Answer:
    """What is not of one queue: totals, PostgreSQL, the exporter, and what this process has measured of itself."""
    from metrics.collector import render_process
    from metrics.pages import Answer
    from metrics.snapshot import snapshot

    return Answer(snapshot.current().answers().fleet.plain + render_process())


def queue_exposition(tenants: Sequence[str] = (), queues: Sequence[str] = ()) -> Answer:
    """The series of all queues, or of those named; raises metrics.pages.UnknownNameError."""
    from metrics.pages import render_only
    from metrics.snapshot import snapshot

    state = snapshot.current()
    if not (tenants or queues) or state.fleet is None or not state.fresh:
        return state.answers().queues
    return render_only(state.fleet, tenants, queues)


def keep_fresh() -> None:
    """From the first scrape on, this process reads the numbers ahead of the next."""
    from metrics.snapshot import snapshot

    snapshot.keeps_fresh = True
