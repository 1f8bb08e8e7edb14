"""Outcomes of redriven messages: succeeded, failed again with the same cause or another, gone, or open.

The engine keeps every ack and every dead letter, so consumers need not report anything. The outcome of each message is
recorded once and counted in the row of the job, so a page reads counters. Slices, sweeps and pages look at a bounded
number of open messages, under the lock of the job's row.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

import psycopg
from django.db import InternalError
from django.db.models import F

from dlq.jobs.models import Redrive
from queues import bulk_verbs
from queues.codes import RedriveOutcome
from queues.database.query import database_now
from queues.database.time_limits import COUNT_MILLISECONDS, OutOfTime, time_limit

WORDS: dict[str, str] = {
    RedriveOutcome.SUCCEEDED: "succeeded",
    RedriveOutcome.FAILED_SAME: "failed again, same cause",
    RedriveOutcome.FAILED_NEW: "failed again, new cause",
    RedriveOutcome.GONE: "purged or expired",
}
FAILED = (RedriveOutcome.FAILED_SAME, RedriveOutcome.FAILED_NEW)
WINDOW = 1_000
# A check ends at the first window in which fewer than one in NEWS_SHARE messages have an outcome. Later windows have
# fewer, because the messages that are sent first are received first.
NEWS_SHARE = 10
MAX_WINDOWS = 10
LOOK_SECONDS = 1.0
WATCH_DAYS = 7
MAX_WATCHED = 100


def look(job: Redrive, now: datetime, windows: int = MAX_WINDOWS) -> None:
    """Record the outcomes of some open messages, and count them in the job, which the caller holds and saves."""
    job.looked_at = now
    for _ in range(windows):
        found = bulk_verbs.settle_redriven(job.pk, 0, WINDOW)
        _count(job, found)
        if found.looked < WINDOW:
            job.looked_after = 0
            return
        if len(found.outcomes) < WINDOW // NEWS_SHARE:
            break
    found = bulk_verbs.settle_redriven(job.pk, job.looked_after, WINDOW)
    _count(job, found)
    job.looked_after = found.last_id if found.looked == WINDOW and found.last_id else 0


def refresh(redrive_id: int, windows: int = MAX_WINDOWS) -> None:
    """Record outcomes for a page of the job. Skips a job that is locked or was looked at a moment ago.

    In a read-only database nothing is recorded, and the page shows the counts that are known.
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
        job.save()


@contextmanager
def _unless_read_only() -> Iterator[None]:
    try:
        yield
    except InternalError as error:
        if not isinstance(error.__cause__, psycopg.errors.ReadOnlySqlTransaction):
            raise


def refresh_watched(seconds: float) -> int:
    """Record outcomes of redrives with open messages, the oldest check first. Return how many redrives were checked."""
    ends_at, looked = time.monotonic() + seconds, 0
    watched = Redrive.objects.filter(watching=True).order_by(F("looked_at").asc(nulls_first=True))
    for redrive_id in list(watched.values_list("pk", flat=True)[:MAX_WATCHED]):
        refresh(redrive_id)
        looked += 1
        if time.monotonic() > ends_at:
            break
    return looked


def _is_watched(job: Redrive, now: datetime) -> bool:
    """Tell whether to look for outcomes later: a message that is never received has none."""
    if job.is_active:
        return True
    over = job.finished_at or now
    return job.open_outcomes > 0 and now - over < timedelta(days=WATCH_DAYS)


def _count(job: Redrive, found: bulk_verbs.Settled) -> None:
    job.succeeded += found.outcomes.count(RedriveOutcome.SUCCEEDED)
    job.failed_same += found.outcomes.count(RedriveOutcome.FAILED_SAME)
    job.failed_new += found.outcomes.count(RedriveOutcome.FAILED_NEW)
    job.gone += found.outcomes.count(RedriveOutcome.GONE)
    judged_after = job.step_began.get("judged_after", 0)
    for letter, redriven_id in zip(found.outcomes, found.redriven_ids, strict=True):
        if redriven_id <= judged_after:  # sent before the redrive was resumed: the stop rules counted it then
            job.step_began["failed"] += letter in FAILED
            job.step_began["settled"] = job.step_began.get("settled", 0) + 1
        elif letter == RedriveOutcome.SUCCEEDED:
            job.failed_in_row = 0
        elif letter in FAILED:
            job.failed_in_row += 1
