"""Locations outside of the database. A room that has one registers it here, since this room knows none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from dlq.erasure.models import Erasure
from dlq.erasure.target import Target
from queues.erasure import finds

PLACE = "elsewhere"
"""Where an erasure stands while it waits for what is outside."""


class Outside(Protocol):
    """A place outside of the database. It is asked within a batch, and does the work elsewhere."""

    def waits_for(self, erasure_id: int) -> str:
        """Return what there still is to do, as a sentence; empty when it is done."""

    def work(self, erasure_id: int) -> None:
        """Do it here and now, as far as it goes."""

    def report(self, erasure_id: int) -> dict[str, Any]:
        """Return what was done, for the report."""


@dataclass(frozen=True)
class Asked:
    """Description of an erasure, for the work outside of the database."""

    erasure_id: int
    target: Target
    queue_ids: Sequence[int] | None
    since: datetime | None
    until: datetime | None

    def message_ids(self) -> list[int]:
        """The messages that are erased in the database."""
        return finds.erased_message_ids(self.erasure_id)

    def body_hashes(self) -> list[bytes]:
        """Return their large bodies."""
        return finds.body_hashes(self.erasure_id)


_places: dict[str, Outside] = {}


def add(name: str, outside: Outside) -> None:
    """Register a location: from now on an erasure is not over before it is done there."""
    _places[name] = outside


def wait_for(job: Erasure) -> str:
    """The first that is not done; empty when all are."""
    return next((words for outside in _places.values() if (words := outside.waits_for(job.pk))), "")


def work(job: Erasure) -> None:
    """Do all of it here."""
    for outside in _places.values():
        outside.work(job.pk)


def reports(job: Erasure) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return what each has to say, if anything."""
    for name, outside in _places.items():
        if report := outside.report(job.pk):
            yield name, report


def over(erasure_ids: Iterable[int]) -> set[int]:
    """Return those that are not, and will not be, worked on any more."""
    ids = set(erasure_ids)
    going_on = Erasure.objects.filter(pk__in=ids, state__in=Erasure.UNDECIDED_STATES)
    return ids - set(going_on.values_list("pk", flat=True))


def asked(erasure_id: int) -> Asked | None:
    """Return what is to be done outside now; None when the erasure is over, stopped, or not that far."""
    job = Erasure.objects.filter(pk=erasure_id, state__in=Erasure.RUNNABLE_STATES, place=PLACE).first()
    if job is None:
        return None
    return Asked(job.pk, Target(job.part, job.path, job.value), job.queue_ids, job.since, job.until)
