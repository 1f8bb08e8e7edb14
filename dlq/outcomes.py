"""What became of what a redrive sent again: succeeded, dead again of the same cause or of another, or still open.

The engine keeps every acknowledgement and every death, so nobody has to ask a consumer. Each message's outcome is noted
once, beside its redrive, and counted in the job's row: a page reads counters. Whoever happens by looks at a bounded
number of those that are open (a slice, the sweep, the page), under the lock of the job's row.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

import psycopg
from django.db import InternalError
from django.db.models import F

from dlq import verbs
from dlq.finding import database_now
from dlq.models import Redrive
from dlq.time_limits import COUNT_MILLISECONDS, OutOfTime, time_limit

WORDS = {
    "a": "succeeded",
    "s": "failed again, same cause",
    "n": "failed again, new cause",
    "g": "purged or expired",
}
WINDOW = 1_000
# A look ends when this share of a window has no news: what was sent first is received first.
NEWS_SHARE = 10
MOST_WINDOWS = 10
LOOK_SECONDS = 1.0
WATCH_DAYS = 7


def look(job: Redrive, now: datetime, windows: int = MOST_WINDOWS) -> None:
    """Note what became of some that are open, in the job too, which the caller holds and saves."""
    job.looked_at = now
    for _ in range(windows):
        found = verbs.settle_redriven(job.pk, 0, WINDOW)
        _count(job, found)
        if found.looked < WINDOW:
            job.looked_after = 0
            return
        if len(found.outcomes) < WINDOW // NEWS_SHARE:
            break
    found = verbs.settle_redriven(job.pk, job.looked_after, WINDOW)
    _count(job, found)
    job.looked_after = found.last_id if found.looked == WINDOW and found.last_id else 0


def refresh(redrive_id: int, windows: int = MOST_WINDOWS) -> None:
    """Look for whoever wants to see the job; nothing when somebody has it in hand, or looked a moment ago.

    Nothing either in a database that cannot be written: the page shows what was known.
    """
    with suppress(OutOfTime), _unless_read_only(), time_limit(COUNT_MILLISECONDS):
        job = Redrive.objects.select_for_update(skip_locked=True).filter(pk=redrive_id).first()
        if job is None or (not job.open_outcomes and not job.watching):
            return
        now = database_now()
        if job.looked_at and timedelta(0) <= now - job.looked_at < timedelta(seconds=LOOK_SECONDS):
            return
        look(job, now, windows)
        job.watching = _is_watched(job, now)
        job.save(update_fields=_FIELDS)


@contextmanager
def _unless_read_only() -> Iterator[None]:
    try:
        yield
    except InternalError as error:
        if not isinstance(error.__cause__, psycopg.errors.ReadOnlySqlTransaction):
            raise


def refresh_watched(seconds: float) -> int:
    """Look after every redrive that has open outcomes, those first that waited longest; returns how many."""
    ends_at, looked = time.monotonic() + seconds, 0
    for redrive_id in _watched():
        refresh(redrive_id)
        looked += 1
        if time.monotonic() > ends_at:
            break
    return looked


_FIELDS = (
    "succeeded",
    "failed_same",
    "failed_new",
    "gone",
    "failed_in_row",
    "step_began",
    "looked_at",
    "looked_after",
    "watching",
)


def _watched() -> Sequence[int]:
    return list(
        Redrive.objects.filter(watching=True)
        .order_by(F("looked_at").asc(nulls_first=True))
        .values_list("pk", flat=True)[:100]
    )


def _is_watched(job: Redrive, now: datetime) -> bool:
    """Not for ever: a message that nobody receives has no outcome."""
    if job.is_active:
        return True
    over = job.finished_at or now
    return job.open_outcomes > 0 and now - over < timedelta(days=WATCH_DAYS)


def _count(job: Redrive, found: verbs.Settled) -> None:
    job.succeeded += found.outcomes.count("a")
    job.failed_same += found.outcomes.count("s")
    job.failed_new += found.outcomes.count("n")
    job.gone += found.outcomes.count("g")
    judged_after = job.step_began.get("judged_after", 0)
    for letter, redriven_id in zip(found.outcomes, found.redriven_ids, strict=True):
        if redriven_id <= judged_after:  # sent before it was resumed: that was judged
            job.step_began["failed"] += letter in "sn"
        elif letter == "a":
            job.failed_in_row = 0
        elif letter in "sn":
            job.failed_in_row += 1
