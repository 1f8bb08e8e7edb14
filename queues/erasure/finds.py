"""Progress of an erasure: messages by id, large bodies by hash, and sample errors of failure groups."""

from __future__ import annotations

from collections.abc import Sequence

from queues.database.query import Query, fetch, query_text
from queues.erasure.locations import rows_of


def due(erasure_id: int, after: int, closes: int, limit: int) -> list[tuple[int, int]]:
    """Return (message id, queue id) to check again: in work, busy, or last checked before transaction `closes`."""
    return fetch(query_text("erasure/due"), [erasure_id, after, str(closes), limit])


def open_finds(erasure_id: int) -> dict[str, int]:
    """Count the open messages by their present state, at most the first thousand."""
    counts = fetch(query_text("erasure/open_finds"), [erasure_id])
    return dict(counts)


def erased_message_ids(erasure_id: int) -> list[int]:
    """Return the ids of messages that are erased in the database."""
    return Query(
        "select f.message_id from signalbox.erasure_find f where f.erasure_id = %s"
        " and f.became in ('erased', 'deleted') order by 1",
        [erasure_id],
    ).column()


def body_hashes(erasure_id: int) -> list[bytes]:
    """Return the hashes of the large bodies that the erasure found."""
    hashes = Query("select b.sha256 from signalbox.erasure_body b where b.erasure_id = %s", [erasure_id])
    return [bytes(sha256) for sha256 in hashes.column()]


def bodies_to_remove(erasure_id: int, after: bytes, limit: int) -> list[bytes]:
    """Return the hashes of large bodies that are still in the store, above the hash `after`."""
    hashes = Query(
        "select e.sha256 from signalbox.erasure_body e where e.erasure_id = %s and not e.removed and e.sha256 > %s"
        " order by 1 limit %s",
        [erasure_id, after, limit],
    )
    return [bytes(sha256) for sha256 in hashes.column()]


def pending_samples(queue_ids: Sequence[int] | None) -> list[tuple[str, str]]:
    """Return (fingerprint, error) of failures that are not added to their groups yet."""
    return fetch(query_text("erasure/pending_samples"), [queue_ids, queue_ids])


def number_of_groups() -> int:
    """Estimate how many failure groups there are, by the statistics of the database."""
    return rows_of("signalbox.failure_cluster")


def samples(after: str, queue_ids: Sequence[int] | None, limit: int) -> list[tuple[str, str | None]]:
    """Return (fingerprint, sample error) of failure groups above the fingerprint `after`."""
    return fetch(query_text("erasure/samples"), [after, queue_ids, queue_ids, limit])
