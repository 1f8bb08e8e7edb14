"""What lies outside of the database. Whoever knows such a place says so here, since nothing here knows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from dlq.erasing.target import Target
from dlq.finding import Query
from dlq.models import Erasure

PLACE = "elsewhere"
"""Where an erasure stands while it waits for what is outside."""


class Outside(Protocol):
    """A place outside of the database. It is asked within a batch, and does the work elsewhere."""

    def waits_for(self, erasure_id: int) -> str:
        """What there still is to do, as a sentence; empty when it is done."""
        ...

    def work(self, erasure_id: int) -> None:
        """Do it here and now, as far as it goes."""
        ...

    def told(self, erasure_id: int) -> dict[str, Any]:
        """What was done, for the report."""
        ...


@dataclass(frozen=True)
class Asked:
    """What an erasure is after, for those who work outside."""

    erasure_id: int
    target: Target
    queue_ids: Sequence[int] | None
    since: datetime | None
    until: datetime | None

    def message_ids(self) -> list[int]:
        """The messages that are erased in the database."""
        found = Query(
            "select f.message_id from signalbox.erasure_find f where f.erasure_id = %s"
            " and f.became in ('erased', 'deleted') order by 1",
            [self.erasure_id],
        )
        return [row[0] for row in found.rows()]

    def body_hashes(self) -> list[bytes]:
        """Their large bodies."""
        found = Query("select b.sha256 from signalbox.erasure_body b where b.erasure_id = %s", [self.erasure_id])
        return [bytes(row[0]) for row in found.rows()]


_places: dict[str, Outside] = {}


def add(name: str, outside: Outside) -> None:
    """From now on an erasure is not over before this says so."""
    _places[name] = outside


def wait_for(job: Erasure) -> str:
    """The first that is not done; empty when all are."""
    return next((words for outside in _places.values() if (words := outside.waits_for(job.pk))), "")


def work(job: Erasure) -> None:
    """Do all of it here."""
    for outside in _places.values():
        outside.work(job.pk)


def reports(job: Erasure) -> Iterator[tuple[str, dict[str, Any]]]:
    """What each has to say, if anything."""
    for name, outside in _places.items():
        if told := outside.told(job.pk):
            yield name, told


def over(erasure_ids: Iterable[int]) -> set[int]:
    """Those that are not, and will not be, worked on any more."""
    ids = set(erasure_ids)
    going_on = Erasure.objects.filter(pk__in=ids, state__in=Erasure.UNDECIDED_STATES)
    return ids - set(going_on.values_list("pk", flat=True))


def asked(erasure_id: int) -> Asked | None:
    """What is to be done outside now; None when the erasure is over, stopped, or not that far."""
    job = Erasure.objects.filter(pk=erasure_id, state__in=Erasure.RUNNABLE_STATES, place=PLACE).first()
    if job is None:
        return None
    return Asked(job.pk, Target(job.part, job.path, job.value), job.queue_ids, job.since, job.until)
