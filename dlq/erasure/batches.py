"""Batches of an erasure: each searches a page of one location, or checks messages again that were found before.

After the search, each found message is checked again when all transactions that were running at its first check have
ended; a message in flight is also checked when it is settled. Then large bodies without references are deleted.
External locations come last: the archive may take in messages until they are erased in the database.

Earlier transactions have ended when the oldest running transaction id has passed a bound. The bound is read in a
later batch than the erased rows, because a transaction that began before their commit still sees the old rows.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from django.db import transaction

from dlq.erasure import external
from dlq.erasure.documents import Documents, StoreAway, store_errors
from dlq.erasure.locations import CAUSES_AGAIN, ERASE, LATE, SENDING, STAGED_AGAIN, WALKS, Walk
from dlq.erasure.models import Erasure
from dlq.erasure.target import Target
from dlq.jobs.runner import REST
from queues import bulk_verbs
from queues.bodies import store
from queues.database.query import Query, database_now
from queues.dead_letters.ids import newest_id
from queues.erasure import finds
from queues.erasure.locations import Page, Row, Scope
from queues.messages.lists import newest_message_id
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

ERASED_AT_ONCE = 100
MAX_SLICE_ROWS = 5_000
LONG_SECONDS, SHORT_SECONDS = 1.0, 0.2
"""A batch above the first duration halves the rows of the next one; a batch below the second doubles them."""
COPIES, AGAIN, BODIES, ELSEWHERE = "copies", "again", "bodies", external.PLACE
BODIES_AT_ONCE = 20
MOMENT_SECONDS = 0.1
"""Pause between two checks for running transactions. Most transactions end within it."""


def batch(job: Erasure, now: datetime) -> float | None:
    """Run one batch. Return the seconds until the next may begin, `REST`, or None when the erasure is done."""
    steps = _steps(job)
    job.place = job.place or next(iter(steps))
    began, looked = time.monotonic(), job.looked
    job.note = ""
    try:
        wait_seconds = steps[job.place](job)
    except StoreAway as error:  # failing the job would clear its value, and the error may be temporary
        log.warning("%s: %s", job, in_brief(error.__cause__ or error))
        job.note = "Waits for the store of large bodies, which cannot be read; the log has the error."
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


# Names of the places for people.
PLACE_WORDS = {walk.name: walk.words for walk in (*WALKS, *LATE)} | {
    COPIES: "copies that running transactions sent from these places",
    AGAIN: "found messages, checked again: in flight, or copied by running transactions",
    BODIES: "large bodies without references",
    ELSEWHERE: "outside of the database",
}


Step = Callable[[Erasure], float | None]


def _steps(job: Erasure) -> dict[str, Step]:
    """Return the steps of a job in order. A step returns None when it is done."""
    walks: dict[str, Step] = {walk.name: partial(_walk, walk) for walk in (*WALKS, *LATE)}
    steps = {walk.name: walks[walk.name] for walk in SENDING} | {COPIES: _wait_for_copies}
    steps |= {walk.name: walks[walk.name] for walk in WALKS}
    if job.only_counts:
        return steps
    steps |= {AGAIN: _look_again, CAUSES_AGAIN.name: walks[CAUSES_AGAIN.name], BODIES: _remove_bodies}
    return steps | {ELSEWHERE: _wait_elsewhere, STAGED_AGAIN.name: walks[STAGED_AGAIN.name]}


def _walk(walk: Walk, job: Erasure) -> float | None:
    target = Target(job.part, job.path, job.value)
    part = walk.page(scope_of(job, target), job.cursor, job.slice_rows)
    found = _found(job, walk.name, part, target)
    for start in range(0, len(found), ERASED_AT_ONCE):
        _treat(job, walk, target, found[start : start + ERASED_AT_ONCE])
    if part.after is None:
        return None
    job.cursor = list(part.after)
    return 0.0


def scope_of(job: Erasure, target: Target) -> Scope:
    """Return the scope of a job for its searches."""
    return Scope(
        document=target.part,
        text=target.text,
        needles=target.needles,
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
    """Set the bounds to the newest message and dead letter; messages sent from `SENDING` are included later."""
    job.through_message_id, job.through_dead_letter_id = newest_message_id(), newest_id()


def _wait_for_copies(job: Erasure) -> float | None:
    """Wait for transactions that may have sent messages from `SENDING`, then set the bound of message ids."""
    oldest, following = _transactions()
    if not job.only_counts:
        is_new = not job.cursor
        job.cursor = [min([following, *job.cursor])]  # after a restore, the earlier server's ids may be higher
        if oldest < job.cursor[0]:
            job.note = WAITS
            return MOMENT_SECONDS if is_new else REST
    job.through_message_id = newest_message_id()
    return None


def _transactions() -> tuple[int, int]:
    """Return the ids of the oldest running transaction and of the next one; this one is running."""
    [(oldest, following)] = Query(TRANSACTIONS, []).rows()
    return int(oldest), int(following)


def _found(job: Erasure, place: str, part: Page, target: Target) -> list[Row]:
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
    if erase := ERASE.get(walk.name):
        if not job.only_counts:
            counts = job.places[walk.name]
            counts["erased"] = counts.get("erased", 0) + erase(job.pk, target, rows)
        return
    ids = [row.message_id for row in rows]
    live = "count" if job.only_counts else job.live
    note(job, bulk_verbs.erase_messages(job.pk, ids, [row.queue_id for row in rows], live, walk.name))


def note(job: Erasure, treated: Sequence[tuple[int, str, str | None, str]]) -> None:
    """Count each message once, by its latest state."""
    for _, state, before, became in treated:
        if before is None:
            job.states[state] = job.states.get(state, 0) + 1
        elif before != became:
            job.became[before] -= 1
        if before != became:
            job.became[became] = job.became.get(became, 0) + 1


def _wait_elsewhere(job: Erasure) -> float | None:
    """Wait for external locations, in which other processes erase."""
    job.note = external.wait_for(job)[:500]
    return REST if job.note else None


WAITS = "Waits for transactions that began before the search."
TRANSACTIONS = "select pg_snapshot_xmin(s)::text, pg_snapshot_xmax(s)::text from pg_current_snapshot() s"


def _look_again(job: Erasure) -> float | None:
    """Check found messages again, in rounds until none is open.

    A round closes messages that were checked before its bound, when all transactions before the bound have ended. Until
    then, a round checks only messages in flight, and the next round has the same bound.
    """
    oldest, following = _transactions()
    if not job.cursor:  # a batch of its own: later checks are not before this bound
        job.cursor = [0, 0, following]
        return MOMENT_SECONDS
    after, closes, bound = job.cursor
    bound = min(bound, following)
    if not after:
        closes = bound if oldest >= bound else 0
    if due := finds.due(job.pk, after, closes, ERASED_AT_ONCE):
        ids, queue_ids = [row[0] for row in due], [row[1] for row in due]
        note(job, bulk_verbs.erase_messages(job.pk, ids, queue_ids, job.live, AGAIN))
        job.cursor = [ids[-1], closes, bound]
        return 0.0
    left = finds.open_finds(job.pk)
    if not left:
        return None
    job.cursor = [] if closes else [0, 0, bound]
    working = left.get("in_work", 0)
    job.note = f"{working:,} messages are in flight: they are erased when they are settled." if working else WAITS
    return 0.0 if not closes and oldest >= bound else REST


def _remove_bodies(job: Erasure) -> float | None:
    after = bytes.fromhex(job.cursor[0]) if job.cursor else b""
    bodies = finds.bodies_to_remove(job.pk, after, BODIES_AT_ONCE)
    counts = job.places.setdefault(BODIES, {"looked": 0, "found": 0, "removed": 0})
    for sha256 in bodies:
        gone = _remove_body(job, sha256)
        counts["looked"] += 1
        counts["removed"] += gone
        job.cursor = [sha256.hex()]
    return None if len(bodies) < BODIES_AT_ONCE else 0.0


def _remove_body(job: Erasure, sha256: bytes) -> bool:
    """Delete a large body without references. Tell whether the store no longer has it."""
    with transaction.atomic():
        forgotten = bulk_verbs.erase_body(job.pk, sha256)
        if forgotten:
            with store_errors():
                store().delete(sha256.hex())
    return forgotten is not False


def _adapt(job: Erasure, seconds: float) -> None:
    if seconds > LONG_SECONDS:
        job.slice_rows = max(10, job.slice_rows // 2)
    elif seconds < SHORT_SECONDS:
        job.slice_rows = min(MAX_SLICE_ROWS, job.slice_rows * 2, max(1, job.rows_per_second))
