"""Queries for the rows of dead letters, found by their ids."""
# ruff: noqa: S608 - statements are put together from literals of this file and queries, whose values are bound

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString

from queues.database.query import Query, fetch, query_text
from queues.dead_letters.ids import Order


def payload_text(table: LiteralString) -> LiteralString:
    """SQL for the beginning of a payload in this table, or for the size of a large body."""
    return (
        f"case when {table}.body_sha256 is null then left({table}.payload::text, 2048)"
        f" else 'large body of ' || {table}.body_bytes || ' bytes' end"
    )


def listed(ids: Query, order: Order, *, with_payloads: bool, column: LiteralString = "dead_letter_id") -> Query:
    """Select what a list shows: ids, queues, the failure, counts, times, and the beginning of the payload."""
    payload = payload_text("d") if with_payloads else "null"
    return _of(
        ids,
        "d.dead_letter_id, d.message_id, q.name, d.source_queue, d.reason, d.error_class, left(d.error, 1000),"
        " d.fingerprint, d.receive_count, d.redrive_count, d.priority, d.group_id, d.consumer, d.sent_at,"
        f" d.last_failed_at, d.died_at, {payload}",
        f" join signalbox.queue q on q.queue_id = d.queue_id {order.by(f'd.{column}')}",
    )


def sources_and_redrives(ids: Query) -> Query:
    """Select (queue where it died, number of redrives, fingerprint) of each dead letter."""
    return _of(ids, "d.source_queue, d.redrive_count, d.fingerprint")


def facts(ids: Query) -> Query:
    """Select what a plan counts: id, queue, fingerprint, cause, death, attempts, group, redrives, and two flags.

    The flags say whether it has a deduplication id, and whether its body is in the store.
    """
    return _of(
        ids,
        "d.dead_letter_id, d.source_queue, d.fingerprint, coalesce(d.error_class, d.reason), d.died_at,"
        " d.receive_count, d.group_id, d.redrive_count, d.deduplication_id is not null, d.body_sha256 is not null",
    )


def failures(ids: Query) -> Query:
    """Select (class, reason, beginning of the error, source queue, holder, death, redrives), the newest first."""
    return _of(
        ids,
        "d.error_class, d.reason, left(d.error, 300), d.source_queue, coalesce(q.name, d.source_queue), d.died_at,"
        " d.redrive_count",
        " left join signalbox.queue q on q.queue_id = d.queue_id order by d.dead_letter_id desc",
    )


def values_of(ids: Query, column: LiteralString, prefix: str, limit: int) -> Query:
    """Select (value, how often it occurs) of a column's short values that contain `prefix`, the commonest first."""
    newest = _of(ids, f"d.{column} as value")
    return Query(
        f"select value, count(*) || ' of the newest' from ({newest.sql}) newest"
        " where length(value) < 200 and position(lower(%s) in lower(value)) > 0"
        " group by value order by count(*) desc, value limit %s",
        [*newest.params, prefix, limit],
    )


def fingerprints_of(ids: Query, part: str, limit: int) -> Query:
    """Select (fingerprint, class or reason, an error, how often it occurs) of fingerprints or classes with `part`."""
    newest = _of(ids, "d.fingerprint, coalesce(d.error_class, d.reason) as cause, left(d.error, 80) as error")
    return Query(
        f"select fingerprint, max(cause), max(error), count(*) from ({newest.sql}) newest"
        " where length(fingerprint) < 200 and position(lower(%s) in lower(fingerprint || ' ' || cause)) > 0"
        " group by fingerprint order by count(*) desc, fingerprint limit %s",
        [*newest.params, part, limit],
    )


def documents(ids: Query) -> Query:
    """Select (payload, attributes, hash of a large body), the newest first."""
    return _of(ids, "d.payload, d.attributes, d.body_sha256", " order by d.dead_letter_id desc")


def whole(ids: Sequence[int], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Read these columns of these dead letters, the newest first."""
    wanted = ", ".join(_WHOLE.get(column, f"d.{column}") for column in columns)
    rows = Query(
        f"select {wanted} from signalbox.dead_letter d join signalbox.queue q on q.queue_id = d.queue_id"
        " where d.dead_letter_id = any(%s) order by d.dead_letter_id desc",
        [list(ids)],
    ).rows()
    return [dict(zip(columns, row, strict=True)) for row in rows]


_WHOLE = {
    "queue": "q.name",
    "payload": "case when d.body_sha256 is null then d.payload::text end",
    "attributes": "d.attributes::text",
    "body_sha256": "encode(d.body_sha256, 'hex')",
}


def _of(ids: Query, columns: str, tail: str = "") -> Query:
    return Query(
        f"select {columns} from ({ids.sql}) found join signalbox.dead_letter d using (dead_letter_id){tail}", ids.params
    )


def live_fingerprints(fingerprints: Sequence[str]) -> set[str]:
    """Return the fingerprints, of these, that have a failure group. One query."""
    known = "select c.fingerprint from signalbox.failure_cluster c where c.fingerprint = any(%s::text[])"
    return set(Query(known, [list(fingerprints)]).column())


def dead_letter_samples(ids: Sequence[int]) -> list[tuple[Any, ...]]:
    """Read (id, message id, source, died at, beginning of the payload, payload), newest first, if they exist."""
    return fetch(_SAMPLES, [list(ids)])


_SAMPLES = query_text("dead_letters/samples")
