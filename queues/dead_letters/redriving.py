"""Queries about dead letters before a redrive: deduplication ids, bodies, payloads, traces and limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from queues.database.query import Query
from queues.reach import SYSTEM_TENANT


def taken_ids(ids: Sequence[int], target_queue: str | None) -> Query:
    """Count the dead letters whose deduplication id another message holds now in their destination."""
    return Query(
        """
select count(*)
from unnest(%s::bigint[]) given(dead_letter_id)
join signalbox.dead_letter d on d.dead_letter_id = given.dead_letter_id
left join signalbox.queue t on t.name = %s
join signalbox.queue q on q.queue_id = coalesce(t.queue_id, d.source_queue_id) and q.dedup_scope = 'in_flight'
where exists (
  select from signalbox.dedup_in_flight k where k.queue_id = q.queue_id and k.deduplication_id = d.deduplication_id
)
""",
        [list(ids), target_queue],
    )


def number_with_ids(ids: Sequence[int], target_queue: str | None) -> int:
    """Count the dead letters with a deduplication id whose destination keeps ids while messages are in flight."""
    [number] = Query(
        """
select count(*)
from signalbox.dead_letter d
left join signalbox.queue t on t.name = %s
join signalbox.queue q on q.queue_id = coalesce(t.queue_id, d.source_queue_id) and q.dedup_scope = 'in_flight'
where d.dead_letter_id = any(%s::bigint[]) and d.deduplication_id is not null
""",
        [target_queue, list(ids)],
    ).column()
    return int(number)


def taken_ids_in(queue: str | None, ids: Query) -> Query:
    """Count the deduplication ids of a query that a message of this queue holds, or was sent with in the last day."""
    return Query(
        f"""
select count(*)
from signalbox.queue q
cross join ({ids.sql}) s (deduplication_id)
where q.name = %s
  and (
    exists (
      select from signalbox.dedup_in_flight k where k.queue_id = q.queue_id and k.deduplication_id = s.deduplication_id
    ) or exists (
      select from signalbox.dedup d
      where d.queue_id = q.queue_id and d.deduplication_id = s.deduplication_id and d.expires_at > clock_timestamp()
        and d.sent_at > clock_timestamp() - interval '24 hours'
    )
  )
""",  # noqa: S608
        [*ids.params, queue],
    )


def forgotten_bodies(hashes: Query) -> int:
    """Count the hashes of a query whose large body the store no longer has."""
    [number] = Query(
        f"""
select count(*)
from ({hashes.sql}) s (sha256)
where not exists (select from signalbox.large_body b where b.sha256 = s.sha256)
""",  # noqa: S608
        hashes.params,
    ).column()
    return int(number)


DEALT_WITH: LiteralString = """(
  exists (select from signalbox.dead_letter d where d.message_id = s.message_id)
  or exists (select from signalbox.redriven r where r.message_id = s.message_id and r.redriven_at >= s.ended_at)
)"""
"""Of an archived dead letter `s`: whether it is still dead here, or was redriven since it ended.

Indexes: dead_letter_message_id_key, redriven_message.
"""


def small_payloads(ids: Sequence[int], max_bytes: int) -> Query:
    """Select (payload, whether its body is in the store) of the dead letters up to this size."""
    return Query(
        """
select d.payload::text, d.body_sha256 is not null
from unnest(%s::bigint[]) given(dead_letter_id)
join signalbox.dead_letter d on d.dead_letter_id = given.dead_letter_id
where pg_column_size(d.payload) <= %s
""",
        [list(ids), max_bytes],
    )


def payloads_to_patch(ids: Sequence[int], target_queue: str | None) -> Query:
    """Select (id, payload, whether its body is in a store, the most bytes that its destination takes)."""
    return Query(
        """
select d.dead_letter_id, d.payload::text, d.body_sha256 is not null, coalesce(q.max_payload_bytes, 262144)
from signalbox.dead_letter d
left join signalbox.queue t on t.name = %s
left join signalbox.queue q on q.queue_id = coalesce(t.queue_id, d.source_queue_id)
where d.dead_letter_id = any(%s::bigint[])
order by d.dead_letter_id
""",
        [target_queue, list(ids)],
    )


def traceparents(ids: Sequence[int]) -> list[str]:
    """Return the trace contexts with which some of these were sent."""
    return Query(
        """
select d.attributes ->> 'traceparent'
from signalbox.dead_letter d
where d.dead_letter_id = any(%s::bigint[]) and d.attributes ->> 'traceparent' is not null
limit 128
""",
        [list(ids)],
    ).column()


def redriven_more_often(ids: Sequence[int], times: int) -> set[int]:
    """Return those of these dead letters that were redriven more often than `times`."""
    found = Query(
        "select d.dead_letter_id from signalbox.dead_letter d"
        " where d.dead_letter_id = any(%s::bigint[]) and d.redrive_count > %s",
        [list(ids), times],
    )
    return set(found.column())


def own_tasks(ids: Sequence[int]) -> set[int]:
    """Return those of these dead letters that are tasks of Signalbox's own workers."""
    found = Query(
        """
select d.dead_letter_id
from signalbox.dead_letter d
join signalbox.queue q on q.queue_id = d.source_queue_id
join signalbox.tenant t on t.tenant_id = q.tenant_id
where d.dead_letter_id = any(%s::bigint[]) and t.name = %s
""",
        [list(ids), SYSTEM_TENANT],
    )
    return set(found.column())
