"""Report of an erasure, for people and programs: counts by location, and what it could not erase."""

from __future__ import annotations

from typing import Any

from dlq.erasure import external
from dlq.erasure.batches import PLACE_WORDS
from dlq.erasure.models import Erasure

BEYOND = (
    "Earlier backups and copies of the database, and its write-ahead log. Each has its own retention.",
    "Old versions of rows in the files of tables. Vacuum removes them, usually within minutes.",
    "Data that consumers stored: their own databases, logs and files.",
    "Exports and downloads of users. Signalbox does not know where they are.",
    "Data outside of payloads: group ids, deduplication ids, trace ids and names of consumers. They are not changed.",
    "Hashes of requests for deduplication, and stored answers of the HTTP API. Both expire within a day.",
    "Data that is stored for less than a minute: messages between Celery's workers, batches that Spark writes.",
    "Notes and comments of failure groups that contain the value. Edit the notes, and delete the comments with SQL.",
    "Filters and reasons in the audit, and saved filters, that contain the value. Entries of the audit cannot change.",
)
# Sentences about messages that are not erased, by their state.
LEFT = {
    "held": "messages wait to be processed and were not changed. Erase again when they have ended.",
    "in_work": "messages are in flight; they are erased when they are settled.",
    "busy": "messages were being moved by another job; they are checked again.",
}


def report(job: Erasure) -> dict[str, Any]:
    """Return the report as JSON, without the erased value."""
    return {
        "erasure": job.pk,
        **{name: getattr(job, name) for name in ("state", "only_counts", "part", "path", "value_digest", "live")},
        **{name: getattr(job, name) for name in ("through_message_id", "through_dead_letter_id")},
        "where": job.scope_words,
        "asked_by": job.created_by,
        "reason": job.reason,
        "asked_at": job.created_at.isoformat(),
        "finished_at": job.finished_at and job.finished_at.isoformat(),
        "places": [
            {"place": place, "words": PLACE_WORDS.get(place, place), **counted} for place, counted in job.places.items()
        ],
        "stood": dict(job.states),
        "messages": dict(job.became),
        "elsewhere": external.reports(job),
        "not_done": not_done(job),
        "note": job.note,
        "error": job.error,
    }


def not_done(job: Erasure) -> list[str]:
    """Return sentences about data that was not erased: by this job first, then by any erasure."""
    sentences = []
    if job.only_counts:
        sentences.append("The job only counted, and changed nothing.")
    elif job.state == job.State.CANCELLED:
        sentences.append("The erasure was cancelled; locations that it had not reached are unchanged.")
    sentences += [f"{job.became[name]:,} {words}" for name, words in LEFT.items() if job.became.get(name)]
    if unreadable := sum(counted.get("unreadable", 0) for counted in job.places.values()):
        sentences.append(f"{unreadable:,} bodies could not be read: they are missing, not JSON, or nested too deeply.")
    bodies = job.places.get("bodies", {})
    if kept := bodies.get("looked", 0) - bodies.get("removed", 0):
        sentences.append(f"{kept:,} large bodies stay in the store, because other messages use them.")
    return [*sentences, *(text for text in job.remarks.values() if isinstance(text, str)), *BEYOND]
