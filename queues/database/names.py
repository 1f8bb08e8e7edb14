"""Names of queues, tenants and consumers: queries that find them, and SQL that turns them into ids."""
# ruff: noqa: S608 - statements are put together from literals of this file and the condition of a reach

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, LiteralString

from queues.database.query import Query, fetch, query_text
from queues.models import Queue
from queues.reach import Reach


def queues(prefix: str, reach: Reach, limit: int) -> Query:
    """Select (name, kind) of queues within reach whose names begin with a prefix."""
    condition, reached = reach.condition()
    return Query(
        "select q.name, case when q.is_dead_letter_queue then 'dead-letter queue' else 'queue' end"
        " from signalbox.queue q join signalbox.tenant o using (tenant_id)"
        f" where starts_with(lower(q.name), lower(%s)) and {condition}"
        " order by q.is_dead_letter_queue, q.name limit %s",
        [prefix, *reached, limit],
    )


def tenants(prefix: str, reach: Reach, limit: int) -> Query:
    """Select (name, kind) of tenants with a queue within reach whose names begin with a prefix."""
    condition, reached = reach.condition()
    return Query(
        "select o.name, 'tenant' from signalbox.tenant o where starts_with(lower(o.name), lower(%s))"
        f" and ({'true' if reach.is_everything else 'false'} or exists ("
        f"select from signalbox.queue q where q.tenant_id = o.tenant_id and {condition})) order by o.name limit %s",
        [prefix, *reached, limit],
    )


def consumers(prefix: str, queue_id: int, limit: int) -> Query:
    """Select (name, kind) of the consumers of a queue whose names begin with a prefix, those seen last first."""
    return Query(
        "select consumer, 'consumer' from signalbox.consumer where queue_id = %s"
        " and starts_with(lower(consumer), lower(%s)) order by last_seen_at desc limit %s",
        [queue_id, prefix, limit],
    )


def former_names() -> list[tuple[str, str]]:
    """Return (former name, current name) of queues that were renamed."""
    return fetch("select a.name, q.name from signalbox.queue_alias a join signalbox.queue q using (queue_id)")


def queue_id_by_name(column: LiteralString) -> LiteralString:
    """SQL for the id of the queue that a column names, by its current or a former name; null without a queue."""
    return (
        f"(select q.queue_id from signalbox.queue q where q.name = {column}"
        f" union all select a.queue_id from signalbox.queue_alias a where a.name = {column} limit 1)"
    )


QUEUE_IDS: LiteralString = "array(select queue_id from signalbox.queue where name = any(%s::text[]))"
"""SQL for the ids of queues with these names."""
_ALL_QUEUE_IDS: LiteralString = (
    "select q.queue_id from signalbox.queue q join signalbox.tenant o on o.tenant_id = q.tenant_id"
)
TENANT_QUEUE_IDS: LiteralString = f"array({_ALL_QUEUE_IDS} where o.name = any(%s::text[]))"
"""SQL for the ids of the queues of tenants with these names."""


def reached_queue_ids(reach: Reach) -> tuple[LiteralString, list[Any]]:
    """SQL for the ids of the queues within reach, with its parameters."""
    condition, params = reach.condition()
    return f"array({_ALL_QUEUE_IDS} where {condition})", params


def reached_ids(reach: Reach) -> tuple[int, ...] | None:
    """Return the ids of the queues within reach; None for all queues. One query."""
    if reach.is_everything:
        return None
    queue_ids, params = reached_queue_ids(reach)
    return tuple(Query(f"select unnest({queue_ids})", params).column())


def source_ids(holder: str) -> tuple[int, ...]:
    """Return the ids of the queues whose dead letters the queue of this name keeps."""
    sources = Query(
        "select source.queue_id from signalbox.queue q"
        " cross join lateral signalbox.source_queues(q.queue_id) source(queue_id) where q.name = %s",
        [holder],
    )
    return tuple(sources.column())


def queues_asked_for(named: Sequence[str] | None, tenants: Sequence[str] | None) -> tuple[tuple[int, ...] | None, bool]:
    """Return the ids of queues by names and tenants (None: all), and whether a name is that of a dead-letter queue."""
    if named is None and tenants is None:
        return None, False
    names, owners = (None if values is None else list(values) for values in (named, tenants))
    rows = fetch(
        "select q.queue_id, q.is_dead_letter_queue and %s::text[] is not null"
        " from signalbox.queue q join signalbox.tenant t on t.tenant_id = q.tenant_id"
        " where (%s::text[] is null or q.name = any(%s::text[])) and (%s::text[] is null or t.name = any(%s::text[]))",
        [names, names, names, owners, owners],
    )
    return tuple(row[0] for row in rows), any(row[1] for row in rows)


def sources_of(holder: Queue) -> list[str]:
    """Return the names of the queues whose dead letters this one keeps or kept, without dead-letter queues."""
    return Query(_SOURCES_OF_ONE, [holder.pk]).column()


def sources_by_holder() -> dict[str, set[str]]:
    """Return for each queue the names of queues whose dead letters it keeps or kept; a deleted queue has no name."""
    sources: dict[str, set[str]] = defaultdict(set)
    for holder, source in fetch(_SOURCES_OF_ALL):
        sources[holder].add(source)
    return sources


_SOURCES_OF_ONE = query_text("dead_letters/sources_of_queue")

_SOURCES_OF_ALL = query_text("dead_letters/sources_of_queues")
