"""One batch of an erasure: some rows of one place, or some messages that have to be looked at again.

After the walks come the messages that were found: each is looked at once more when every transaction of its first look
is over, and one that is in somebody's hands as soon as it is not. Then large bodies that nothing points to any more,
and what lies outside, since until then the archive may take in what was not erased yet.

Transactions are over when the oldest that is under way began behind a bound, and the bound is drawn in a later batch
than what it is about: whoever began before that was committed may still see what was there before.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from django.db import transaction

from dlq import selecting, verbs
from dlq.erasing import elsewhere
from dlq.erasing.documents import Documents, StoreAway, asking_store
from dlq.erasing.other_walks import STAGED_AGAIN, Causes, Staged, Streams
from dlq.erasing.places import CAUSES_AGAIN, LATE, SENDING, WALKS
from dlq.erasing.target import Target
from dlq.erasing.walks import Row, Scope, Slice, Walk
from dlq.finding import Query, database_now
from dlq.models import Erasure
from dlq.runner import REST
from queues.bodies import store
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

ERASED_AT_ONCE = 100
MOST_SLICE_ROWS = 5_000
LONG_SECONDS, SHORT_SECONDS = 1.0, 0.2
"""A batch that took longer does less the next time, and one that took less does more."""
COPIES, AGAIN, BODIES, ELSEWHERE = "copies", "again", "bodies", elsewhere.PLACE
BODIES_AT_ONCE = 20
MOMENT_SECONDS = 0.1
"""In which most transactions end."""


def batch(job: Erasure, now: datetime) -> float | None:
    """What one batch does; the seconds after which the next may begin, `REST`, or None at the end."""
    steps = _steps(job)
    job.place = job.place or next(iter(steps))
    began, looked = time.monotonic(), job.looked
    job.note = ""
    try:
        wait_seconds = steps[job.place](job)
    except StoreAway as error:  # it may be there again in a moment; what was searched for would be forgotten
        log.warning("%s: %s", job, in_brief(error.__cause__ or error))
        job.note = "Waits for the store of large bodies, which does not answer as it should: the log says more."
        return REST
    _adapt(job, time.monotonic() - began)
    if wait_seconds is not None:
        return max(wait_seconds, (job.looked - looked) / job.rows_per_second)
    places = list(steps)
    following = places.index(job.place) + 1
    if following == len(places):
        return None
    job.place, job.cursor = places[following], []
    return (job.looked - looked) / job.rows_per_second


def place_words(place: str) -> str:
    """A place for people."""
    words = {walk.name: walk.words for walk in (*WALKS, *LATE)}
    words[COPIES] = "what transactions under way sent of these places"
    words[AGAIN] = "what was found, looked at again: what was in work meanwhile, and what transactions under way copied"
    words[BODIES] = "large bodies that nothing points to any more"
    words[ELSEWHERE] = "outside of the database"
    return words.get(place, place)


Step = Callable[[Erasure], float | None]


def _steps(job: Erasure) -> dict[str, Step]:
    """None from a step: it is done."""
    steps: dict[str, Step] = {walk.name: _walking(walk) for walk in SENDING}
    steps |= {COPIES: _wait_for_copies} | {walk.name: _walking(walk) for walk in WALKS if walk not in SENDING}
    if job.only_counts:
        return steps
    steps |= {AGAIN: _look_again, CAUSES_AGAIN.name: _walking(CAUSES_AGAIN)}
    steps |= {BODIES: _remove_bodies, ELSEWHERE: _wait_elsewhere}
    return steps | {STAGED_AGAIN.name: _walking(STAGED_AGAIN)}


def _walking(walk: Walk) -> Step:
    def step(job: Erasure) -> float | None:
        target = Target(job.part, job.path, job.value)
        part = walk.slice(scope_of(job, target), job.cursor, job.slice_rows)
        found = _found(job, walk.name, part, target)
        for some in _chunks(found, ERASED_AT_ONCE):
            _treat(job, walk, target, some)
        if part.after is None:
            return None
        job.cursor = list(part.after)
        return 0.0

    return step


def scope_of(job: Erasure, target: Target) -> Scope:
    """What a job is about, for its walks."""
    return Scope(
        target=target,
        queue_ids=job.queue_ids,
        since=job.since,
        until=job.until,
        through_message_id=job.through_message_id,
        through_dead_letter_id=job.through_dead_letter_id,
        began=job.created_at if job.pk else database_now(),
        names_queues=bool(job.queue_names),
        tenant=job.tenant_name,
    )


def fix_bounds(job: Erasure) -> None:
    """Of what is there now: no other dead letters, and of messages those that come of the first places as well."""
    job.through_message_id, job.through_dead_letter_id = _newest_message(), selecting.newest_id()


def _newest_message() -> int:
    [(last,)] = Query("select coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0)", []).rows()
    return int(last)


def _wait_for_copies(job: Erasure) -> float | None:
    """Until what was sent of the first places, as it was before, can be seen. What is sent later is not touched."""
    oldest, following = _transactions()
    if not job.only_counts:
        is_new = not job.cursor
        job.cursor = [min([following, *job.cursor])]  # those of a cluster from which it was restored may be ahead
        if oldest < job.cursor[0]:
            job.note = WAITS
            return MOMENT_SECONDS if is_new else REST
    job.through_message_id = _newest_message()
    return None


def _transactions() -> tuple[int, int]:
    """(the oldest transaction that is under way, the next one that begins); ours is under way, and never the next."""
    [(oldest, following)] = Query(TRANSACTIONS, []).rows()
    return int(oldest), int(following)


def _found(job: Erasure, place: str, part: Slice, target: Target) -> list[Row]:
    documents = Documents(target)
    found = [row for row in part.rows if documents.hold(row)]
    counts = job.places.setdefault(place, {"looked": 0, "found": 0, "unreadable": 0})
    counts["looked"] += part.looked
    counts["found"] += len(found)
    counts["unreadable"] += documents.unreadable
    job.looked += part.looked
    job.found += len(found)
    return found


def _treat(job: Erasure, walk: Walk, target: Target, rows: Sequence[Row]) -> None:
    if isinstance(walk, Staged | Streams | Causes):
        if not job.only_counts:
            counts = job.places[walk.name]
            counts["erased"] = counts.get("erased", 0) + walk.erase(job.pk, target, rows)
        return
    ids = [row.message_id for row in rows]
    live = "count" if job.only_counts else job.live
    note(job, verbs.erase_messages(job.pk, ids, [row.queue_id for row in rows], live, walk.name))


def note(job: Erasure, treated: Sequence[tuple[int, str, str | None, str]]) -> None:
    """Count messages once, by what they are now."""
    for _, state, before, became in treated:
        if before is None:
            _count(job.states, state)
        elif before != became:
            job.became[before] -= 1
        if before != became:
            _count(job.became, became)


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _wait_elsewhere(job: Erasure) -> float | None:
    """What is outside of the database is somebody else's work; here it is waited for."""
    waits = elsewhere.wait_for(job)
    if waits:
        job.note = waits[:500]
        return REST
    return None


WAITS = "Waits for transactions that began before it looked."
TRANSACTIONS = """
select pg_snapshot_xmin(s)::text, pg_snapshot_xmax(s)::text from pg_current_snapshot() s
"""
DUE = """
select f.message_id, f.queue_id
from signalbox.erasure_find f
where f.erasure_id = %s and f.open and f.message_id > %s
  and (f.became in ('in_work', 'busy') or f.looked_in < cast(%s as text)::xid8)
order by f.message_id
limit %s
"""
OPEN = """
select f.became, count(*)
from (
  select f.became from signalbox.erasure_find f where f.erasure_id = %s and f.open limit 1000
) f
group by f.became
"""


def _look_again(job: Erasure) -> float | None:
    """Round after round, until nothing is open; between two rounds it rests.

    A round closes what was looked at before a bound, if all is over by then that began before it; else it is about what
    was in somebody's hands, and the next one has the same bound.
    """
    oldest, following = _transactions()
    if not job.cursor:  # in a batch that looks at nothing: what looks later is not before this bound
        job.cursor = [0, 0, following]
        return MOMENT_SECONDS
    after, closes, bound = job.cursor
    bound = min(bound, following)
    if not after:
        closes = bound if oldest >= bound else 0
    due = Query(DUE, [job.pk, after, str(closes), ERASED_AT_ONCE]).rows()
    if due:
        ids, queue_ids = [row[0] for row in due], [row[1] for row in due]
        note(job, verbs.erase_messages(job.pk, ids, queue_ids, job.live, AGAIN))
        job.cursor = [ids[-1], closes, bound]
        return 0.0
    left = dict(Query(OPEN, [job.pk]).rows())
    if not left:
        return None
    job.cursor = [] if closes else [0, 0, bound]
    working = left.get("in_work", 0)
    job.note = f"{working:,} in work now: done when their consumers are." if working else WAITS
    return 0.0 if not closes and oldest >= bound else REST


def _remove_bodies(job: Erasure) -> float | None:
    after = bytes.fromhex(job.cursor[0]) if job.cursor else b""
    bodies = Query(
        "select e.sha256 from signalbox.erasure_body e where e.erasure_id = %s and not e.removed and e.sha256 > %s"
        " order by 1 limit %s",
        [job.pk, after, BODIES_AT_ONCE],
    ).rows()
    counts = job.places.setdefault(BODIES, {"looked": 0, "found": 0, "removed": 0})
    for (sha256,) in bodies:
        gone = _remove_body(job, bytes(sha256))
        counts["looked"] += 1
        counts["removed"] += gone
        job.cursor = [bytes(sha256).hex()]
    if len(bodies) < BODIES_AT_ONCE:
        return None
    return 0.0


def _remove_body(job: Erasure, sha256: bytes) -> bool:
    """Whether it has gone: now, or before, by somebody else."""
    with transaction.atomic():
        forgotten = verbs.erase_body(job.pk, sha256)
        if forgotten:
            with asking_store():
                store().delete(sha256.hex())
    return forgotten is not False


def _adapt(job: Erasure, seconds: float) -> None:
    if seconds > LONG_SECONDS:
        job.slice_rows = max(10, job.slice_rows // 2)
    elif seconds < SHORT_SECONDS:
        job.slice_rows = min(MOST_SLICE_ROWS, job.slice_rows * 2, max(1, job.rows_per_second))


def _chunks(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
