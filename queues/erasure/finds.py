"""Results of an erasure so far: messages by id, large bodies by hash, and samples of errors."""

from __future__ import annotations

from collections.abc import Sequence

from queues.database.query import Query, fetch
from queues.erasure.locations import rows_of


def due(erasure_id: int, after: int, closes: int, limit: int) -> list[tuple[int, int]]:
    """Return (message, queue) of those to look at again: in work or busy, or looked at before transaction `closes`."""
    return fetch(
        """
select f.message_id, f.queue_id
from signalbox.erasure_find f
where f.erasure_id = %s and f.open and f.message_id > %s
  and (f.became in ('in_work', 'busy') or f.looked_in < cast(%s as text)::xid8)
order by f.message_id
limit %s
""",
        [erasure_id, after, str(closes), limit],
    )


def open_finds(erasure_id: int) -> dict[str, int]:
    """Count what is still open by what it has become; of more than a thousand, the first thousand."""
    found = fetch(
        """
select f.became, count(*)
from (
  select f.became from signalbox.erasure_find f where f.erasure_id = %s and f.open limit 1000
) f
group by f.became
""",
        [erasure_id],
    )
    return dict(found)


def erased_message_ids(erasure_id: int) -> list[int]:
    """Return the messages that are erased in the database."""
    return Query(
        "select f.message_id from signalbox.erasure_find f where f.erasure_id = %s"
        " and f.became in ('erased', 'deleted') order by 1",
        [erasure_id],
    ).column()


def body_hashes(erasure_id: int) -> list[bytes]:
    """Return the hashes of the large bodies of what was found."""
    found = Query("select b.sha256 from signalbox.erasure_body b where b.erasure_id = %s", [erasure_id])
    return [bytes(sha256) for sha256 in found.column()]


def bodies_to_remove(erasure_id: int, after: bytes, limit: int) -> list[bytes]:
    """Return the hashes of large bodies that are still in the store, behind one of them."""
    found = Query(
        "select e.sha256 from signalbox.erasure_body e where e.erasure_id = %s and not e.removed and e.sha256 > %s"
        " order by 1 limit %s",
        [erasure_id, after, limit],
    )
    return [bytes(sha256) for sha256 in found.column()]


def unfolded_samples(queue_ids: Sequence[int] | None) -> list[tuple[str, str]]:
    """Return (fingerprint, error) of failures that are not added to their groups yet."""
    return fetch(
        """
select d.fingerprint, d.error
from signalbox.cluster_delta d
where d.error is not null and (%s::int[] is null or d.queue_id = any(%s::int[]))
""",
        [queue_ids, queue_ids],
    )


def number_of_groups() -> int:
    """Estimate how many failure groups there are, by the statistics of the database."""
    return rows_of("signalbox.failure_cluster")


def samples(after: str, queue_ids: Sequence[int] | None, limit: int) -> list[tuple[str, str | None]]:
    """Return (fingerprint, sample of an error) of failure groups behind a fingerprint."""
    return fetch(
        """
select c.fingerprint, c.error
from signalbox.failure_cluster c
where c.fingerprint > %s
  and (%s::int[] is null or exists (
    select from signalbox.failure_cluster_queue q where q.fingerprint = c.fingerprint and q.queue_id = any(%s::int[])
  ))
order by c.fingerprint
limit %s
""",
        [after, queue_ids, queue_ids, limit],
    )
