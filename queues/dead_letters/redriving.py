"""Queries about dead letters that are about to be redriven: obstacles, payloads and origins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from queues.database.query import Query, query_text
from queues.reach import SYSTEM_TENANT


def taken_ids(ids: Sequence[int], target_queue: str | None) -> Query:
    """Count the dead letters whose deduplication id another message holds in their destination."""
    return Query(query_text("dead_letters/held_ids"), [list(ids), target_queue])


def obstacles(ids: Sequence[int], target_queue: str | None) -> tuple[int, int]:
    """Count the dead letters whose destination may hold their deduplication id, and those that another cell takes."""
    query = Query(query_text("dead_letters/obstacles"), {"target": target_queue, "ids": list(ids)})
    [(held, elsewhere)] = query.rows()
    return int(held), int(elsewhere)


def taken_ids_in(queue: str | None, ids: Query) -> Query:
    """Count the deduplication ids of a query that a message of this queue holds, or held within a day."""
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
    """Count the hashes of a query whose large body does not exist any more."""
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
"""Condition on an archived dead letter `s`: it is still dead here, or was redriven after it died.

Indexes: dead_letter_message_id_key, redriven_message.
"""


def small_payloads(ids: Sequence[int], max_bytes: int) -> Query:
    """Select (payload text, whether a body store has the payload) of dead letters up to `max_bytes`."""
    return Query(query_text("dead_letters/small_payloads"), [list(ids), max_bytes])


def payloads_to_patch(ids: Sequence[int], target_queue: str | None) -> Query:
    """Select (id, payload text, whether a body store has the payload, the destination's largest payload)."""
    return Query(query_text("dead_letters/payloads_to_patch"), [target_queue, list(ids)])


def traceparents(ids: Sequence[int]) -> list[str]:
    """Return the trace contexts with which these dead letters were sent, at most 128."""
    return Query(query_text("dead_letters/traceparents"), [list(ids)]).column()


def redriven_more_often(ids: Sequence[int], times: int) -> set[int]:
    """Return the ids of dead letters that were redriven more often than `times`."""
    dead_letters = Query(
        "select d.dead_letter_id from signalbox.dead_letter d"
        " where d.dead_letter_id = any(%s::bigint[]) and d.redrive_count > %s",
        [list(ids), times],
    )
    return set(dead_letters.column())


def own_tasks(ids: Sequence[int]) -> set[int]:
    """Return the ids of dead letters that are tasks of Signalbox's own workers."""
    tasks = Query(query_text("dead_letters/tasks_of_tenant"), [list(ids), SYSTEM_TENANT])
    return set(tasks.column())
