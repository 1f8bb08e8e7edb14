"""Notices about the whole installation: the database is read-only or unsafe, the clock is ahead, maintenance is on."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest

from console.overview import standings
from console.web.layout import Notice
from metrics.wording import span
from queues.control.clock import TOLERATED_SECONDS
from queues.control.conditions import Conditions


def notices(request: HttpRequest) -> Iterator[Notice]:
    """Yield the notices of every page; on the overview also those about lasting conditions, such as unsafe settings."""
    conditions = standings.snapshot().conditions
    if conditions.maintenance is not None:
        row = conditions.maintenance
        effects = ", ".join([*row.effects, "only administrators can make changes"])
        yield Notice(
            f"Maintenance by {row.started_by}, {row.announced_end}.",
            f"“{row.reason}” Until it ends: {effects}.",
            "bad" if row.overdue() else "warn",
        )
    if conditions.read_only:
        yield Notice(
            "The database is read-only.",
            "It is a standby, or default_transaction_read_only is on. Messages cannot be sent, received or changed. "
            "Pages show current data.",
            "bad",
        )
    match = request.resolver_match
    if match is not None and match.url_name == "overview":
        yield from _on_the_overview(conditions)


def _on_the_overview(conditions: Conditions) -> Iterator[Notice]:
    if conditions.clock_ahead_seconds > TOLERATED_SECONDS:
        yield Notice(
            f"The engine's clock is {span(conditions.clock_ahead_seconds)} ahead of the database server's.",
            "Leases, retries and delays do not end before that time. When the server's clock is right again, run "
            "manage.py clock reset.",
            "bad",
        )
    if conditions.unsafe:
        yield Notice(
            "Messages that were acknowledged may be lost.",
            "; ".join(str(setting) for setting in conditions.unsafe)
            + ". Turn it on: manage.py check --database default.",
            "warn",
        )
