"""Report of an erasure, for people and programs: counts by location, and plainly what it could not reach."""

from __future__ import annotations

from typing import Any

from dlq.erasure import external
from dlq.erasure.batches import PLACE_WORDS
from dlq.erasure.models import Erasure

BEYOND = (
    "Backups and copies of the database that were made before, and its write-ahead log: each has its own retention.",
    "Earlier versions of rows, which stay in the files of tables until vacuum has passed, usually within minutes.",
    "What consumers have made of these messages: their own databases, logs and files.",
    "Exports and downloads that people made: nothing here knows where they are.",
    "What is no payload: ids of groups, of deduplication and of traces, names of consumers. They stay as they are.",
    "Hashes of requests that deduplication keeps, and answers that the HTTP API keeps for repeats: a day at most.",
    "What is stored for less than a minute: mail between Celery's workers, batches that Spark is about to write.",
    "The audit and saved filters, where a person wrote the value into a filter or a reason: the audit is chained.",
)
# What is left of messages, by what they became.
LEFT = {
    "held": "messages that wait to be processed were held back. Erase again when they have ended.",
    "in_work": "messages are in work now; they are done when they end.",
    "busy": "messages were being moved by another job; they are looked at again.",
}


def report(job: Erasure) -> dict[str, Any]:
    """Return the whole report as JSON, without the value."""
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
        "elsewhere": dict(external.reports(job)),
        "not_done": not_done(job),
        "note": job.note,
        "error": job.error,
    }


def not_done(job: Erasure) -> list[str]:
    """Return what is left, and why, as sentences: first what is of this job, then what is of any."""
    return [*_of_this(job), *BEYOND]


def _of_this(job: Erasure) -> list[str]:
    said = []
    if job.only_counts:
        said.append("Nothing was changed: it was asked to count.")
    elif job.state == job.State.CANCELLED:
        said.append("It was cancelled: what it had not reached is as it was.")
    said += [f"{job.became[name]:,} {words}" for name, words in LEFT.items() if job.became.get(name)]
    if unreadable := sum(counted.get("unreadable", 0) for counted in job.places.values()):
        said.append(
            f"{unreadable:,} bodies could not be read, because they are missing, or no JSON, or nested too deeply."
        )
    bodies = job.places.get("bodies", {})
    if kept := bodies.get("looked", 0) - bodies.get("removed", 0):
        said.append(f"{kept:,} large bodies stay in the store, because other messages point to them.")
    return [*said, *(text for text in job.remarks.values() if isinstance(text, str))]
