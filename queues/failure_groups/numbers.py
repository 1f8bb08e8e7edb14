"""Numbers of failure groups: aggregated ones, and in the same statement the deltas that are not aggregated yet."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from queues.database.query import fetch, query_text


def facts(heads: list[str]) -> list[tuple[Any, ...]]:
    """Return (group, members, reason, class, error, its template, frame, times, regression, deaths)."""
    return fetch(_PARTS + _FACTS, [heads, heads])


def sources(
    heads: list[str], queue_ids: list[int] | None, reached: list[int] | None, limit: int
) -> list[tuple[Any, ...]]:
    """Return the queues of each group, at most `limit` of each, those within reach first, with sums over the group."""
    return fetch(_PARTS + _SOURCES, [heads, heads, queue_ids, queue_ids, queue_ids, queue_ids, reached, reached, limit])


def deaths_by_step(
    heads: list[str], queue_ids: list[int] | None, since: datetime, step: timedelta
) -> dict[tuple[str, datetime], int]:
    """Count the deaths of each failure group in every step of time that has any."""
    params = [heads, heads, since, queue_ids, queue_ids, since, queue_ids, queue_ids, step]
    return {(row[0], row[1]): int(row[2]) for row in fetch(_PARTS + _DEATHS, params)}


_PARTS = query_text("failure_groups/parts")

_FACTS = query_text("failure_groups/facts")

_SOURCES = query_text("failure_groups/sources")

_DEATHS = query_text("failure_groups/deaths_by_step")
