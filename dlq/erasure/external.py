"""Locations outside of the database. The package that knows one registers it here (`pipeline.erasure`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from dlq.erasure.models import Erasure
from dlq.erasure.target import Target
from queues.erasure import finds

PLACE = "elsewhere"
"""The value of `Erasure.place` while the erasure waits for external locations."""


class External(Protocol):
    """A location outside of the database. Batches of the erasure ask for its state; another process does the work."""

    def waits_for(self, erasure_id: int) -> str:
        """Return a sentence about the work that is left; empty when the location is done."""

    def work(self, erasure_id: int) -> None:
        """Erase in this process, as far as possible without waiting."""

    def report(self, erasure_id: int) -> dict[str, Any]:
        """Return the results of the location; empty when it has none."""


@dataclass(frozen=True)
class Request:
    """The work of an erasure in external locations."""

    erasure_id: int
    target: Target
    queue_ids: Sequence[int] | None
    since: datetime | None
    until: datetime | None

    def message_ids(self) -> list[int]:
        """List the messages that were erased in the database."""
        return finds.erased_message_ids(self.erasure_id)

    def body_hashes(self) -> list[bytes]:
        """List the hashes of large bodies of messages that were found in the database."""
        return finds.body_hashes(self.erasure_id)


_locations: dict[str, External] = {}


def add(name: str, location: External) -> None:
    """Register a location: every erasure waits for it before it ends."""
    _locations[name] = location


def wait_for(job: Erasure) -> str:
    """Return a sentence about the first location that is not done; empty when all are done."""
    return next((sentence for location in _locations.values() if (sentence := location.waits_for(job.pk))), "")


def work(job: Erasure) -> None:
    """Erase in all external locations in this process."""
    for location in _locations.values():
        location.work(job.pk)


def reports(job: Erasure) -> dict[str, dict[str, Any]]:
    """Return the results of each location that has any."""
    return {name: report for name, location in _locations.items() if (report := location.report(job.pk))}


def ended(erasure_ids: Iterable[int]) -> set[int]:
    """Return the ids of erasures that have ended or no longer exist."""
    ids = set(erasure_ids)
    undecided = Erasure.objects.filter(pk__in=ids, state__in=Erasure.UNDECIDED_STATES)
    return ids - set(undecided.values_list("pk", flat=True))


def request_of(erasure_id: int) -> Request | None:
    """Return the external work of an erasure; None when it has ended, is paused, or has not reached this place."""
    job = Erasure.objects.filter(pk=erasure_id, state__in=Erasure.RUNNABLE_STATES, place=PLACE).first()
    if job is None:
        return None
    return Request(job.pk, Target(job.part, job.path, job.value), job.queue_ids, job.since, job.until)
