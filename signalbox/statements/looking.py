"""Queues, and how many messages they have where: looking changes nothing."""

from __future__ import annotations

import json
from typing import LiteralString

from signalbox import arguments
from signalbox.errors import QueueNotFound
from signalbox.queue_info import PLACES, QueueInfo, state_of
from signalbox.statements.statement import Row, Statement

_SETTINGS: LiteralString = """
  q.queue_id,
  q.name,
  t.name,
  q.paused,
  q.closed,
  q.is_dead_letter_queue,
  (select jsonb_object_agg(d.name, to_jsonb(q) -> d.name) from signalbox.setting_definition d)::text
"""


def list_queues(prefix: str) -> Statement[list[QueueInfo]]:
    """Queues whose names begin so, by name; without their numbers."""
    return Statement(
        "select"
        + _SETTINGS
        + """
        from signalbox.queue q
        join signalbox.tenant t using (tenant_id)
        where starts_with(q.name, %(prefix)s::text)
        order by q.name
        """,
        {"prefix": arguments.text("prefix", prefix)},
        lambda rows: [_queue(row) for row in rows],
    )


def describe_queue(name: str) -> Statement[QueueInfo]:
    """One queue with its numbers."""

    def read(rows: list[Row]) -> QueueInfo:
        if not rows:
            raise QueueNotFound(f"queue {name[:120]!r} does not exist")
        return _queue(rows[0])

    return Statement(
        "select"
        + _SETTINGS
        + """,
          n.oldest_visible_seconds,
          signalbox.depth(n.totals, 'ready'),
          signalbox.depth(n.totals, 'waiting'),
          signalbox.depth(n.totals, 'scheduled'),
          signalbox.depth(n.totals, 'leased'),
          signalbox.depth(n.totals, case when q.is_dead_letter_queue then 'held' else 'dead' end)
        from signalbox.queue q
        join signalbox.tenant t using (tenant_id)
        cross join lateral signalbox.queue_numbers(array[q.queue_id]) n
        where q.name = %(name)s::text
        """,
        {"name": arguments.text("queue", name)},
        read,
    )


def _queue(row: Row) -> QueueInfo:
    queue_id, name, tenant, paused, closed, is_dead_letter_queue, settings, *numbers = row
    oldest, *counts = numbers or (None,)
    return QueueInfo(
        id=queue_id,
        name=name,
        tenant=tenant,
        state=state_of(paused=paused, closed=closed),
        is_dead_letter_queue=is_dead_letter_queue,
        settings=json.loads(settings),
        messages=dict(zip(PLACES, counts, strict=True)) if counts else None,
        oldest_visible_seconds=oldest,
    )
