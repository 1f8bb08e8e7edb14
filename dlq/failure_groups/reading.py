"""Reading failure groups: three queries for their numbers and one for the notes of people, however many they are.

Numbers are exact: counts that upkeep has added, and deltas still to be added, in the same statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from dlq.failure_groups.models import GroupNote
from queues.database.names import reached_ids
from queues.failure_groups import numbers
from queues.reach import EVERYTHING, Reach

SPARK_POINTS = 60
BUCKET = timedelta(minutes=10)
HOUR_BUCKETS = timedelta(hours=1) // BUCKET
RECENT_BUCKETS = 2
"""The bucket under way and the one before it: 10 to 20 minutes, so that a new bucket does not read as an end."""
KEPT = timedelta(days=14)
MAX_SOURCES = 20  # limit of named source queues; the totals count all of them


class State(StrEnum):
    """The words of a failure group's state, as people read them."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    REGRESSED = "regressed"  # follows from a failure; no person sets it


STATES = tuple(State)


def state_of(care: GroupNote | None, last_seen: datetime, again_at: datetime | None) -> State:
    """Return the state that a person set; regressed when the group failed after it was resolved or redriven."""
    changed_at = care.state_changed_at if care else None
    if care and care.state == State.RESOLVED and changed_at and last_seen > changed_at:
        return State.REGRESSED
    if again_at and (changed_at is None or again_at > changed_at):
        return State.REGRESSED
    return State(care.state) if care else State.OPEN


@dataclass(frozen=True)
class Source:
    """A source queue of a failure group: its dead letters now and ever. A deleted queue has no name."""

    queue: str
    tenant: str
    dead: int
    deaths: int


@dataclass(frozen=True)
class FailureGroup:
    """Dead letters of one cause. When a reader asks for some queues, `dead`, `deaths` and `course` count only these."""

    fingerprint: str
    members: Sequence[str]
    """Fingerprints that were merged into this group, without its own fingerprint."""
    reason: str | None
    error_class: str | None
    error: str | None
    """The error of one message of the group; it may quote the payload."""
    template: str | None
    """The error as the fingerprint reads it: with `*` for each number, id and quoted value."""
    frame: str | None
    first_seen: datetime
    last_seen: datetime
    dead: int
    deaths: int
    failures: int
    """All dead letters that the group ever had, in all queues."""
    again_at: datetime | None
    again_redrive_id: int | None
    """The number of the redrive after which a message failed with this fingerprint again."""
    sources: Sequence[Source]
    """Source queues, those with the most dead letters first."""
    source_count: int
    course: Sequence[tuple[datetime, int]]
    """Failures of the last day in steps of ten minutes, the oldest first."""
    care: GroupNote | None
    is_shared: bool = False
    """Whether the group also has messages in queues that the reader may not see."""

    @property
    def state(self) -> State:
        return state_of(self.care, self.last_seen, self.again_at)

    @property
    def is_snoozed(self) -> bool:
        """Return whether a snooze is in effect: neither of its ends has come."""
        care = self.care
        if care is None or (care.snoozed_until is None and care.snoozed_failures is None):
            return False
        in_time = care.snoozed_until is None or datetime.now(UTC) < care.snoozed_until
        return in_time and (care.snoozed_failures is None or self.failures < care.snoozed_failures)

    @property
    def snoozed_for(self) -> int | None:
        """Return the number of failures after which the snooze ends; None if only a time ends it."""
        end = self.care.snoozed_failures if self.care else None
        return None if end is None else end - self.failures

    @property
    def regressed_after(self) -> int | None:
        """Return the redrive after which the group regressed."""
        return self.again_redrive_id if self.state is State.REGRESSED else None

    @property
    def recent_minutes(self) -> int:
        """Return the minutes that `died_recently` covers, rounded up."""
        return -((self.course[-RECENT_BUCKETS][0] - datetime.now(UTC)) // timedelta(minutes=1))

    @property
    def died_recently(self) -> int:
        """Return the failures of the last 10 to 20 minutes: whether it goes on."""
        return sum(deaths for _, deaths in self.course[-RECENT_BUCKETS:])

    @property
    def died_last_hour(self) -> int:
        return sum(deaths for _, deaths in self.course[-HOUR_BUCKETS:])

    @property
    def died_last_day(self) -> int:
        return sum(deaths for _, deaths in self.course)

    @property
    def spark(self) -> list[float]:
        return [float(deaths) for _, deaths in self.course[-SPARK_POINTS:]]

    @property
    def tenants(self) -> list[str]:
        return sorted({source.tenant for source in self.sources})

    @property
    def words(self) -> str:
        """Return the error class, or the words for an error without a class."""
        unnamed = {"lock_expired": "Timed out", "rejected": "Rejected"}
        return self.error_class or unnamed.get(self.reason or "", "Failed without a class")


def read_group(fingerprint: str, reach: Reach = EVERYTHING) -> FailureGroup | None:
    """Read the failure group of a fingerprint, as far as its queues are reached; None if it is unknown."""
    reached = reached_ids(reach)
    found = next(iter(read_groups([fingerprint], reached, reached)), None)
    return found if found is None or reached is None or found.sources else None


def read_groups(
    fingerprints: Sequence[str], queue_ids: Sequence[int] | None = None, reached: Sequence[int] | None = None
) -> list[FailureGroup]:
    """Read these failure groups in this order, without unknown ones. Four queries.

    Only sources that are `reached` are named; text that may come from other queues is left out.
    """
    heads = list(fingerprints)
    facts = {row[0]: row[1:] for row in numbers.facts(heads)}
    sources = _sources(heads, queue_ids, reached)
    courses = read_courses(heads, queue_ids, BUCKET, timedelta(days=1))
    cares = GroupNote.objects.in_bulk(heads)
    found = [_group(one, facts[one], sources, courses[one], cares.get(one)) for one in heads if one in facts]
    return [_without_others(one) if one.is_shared else one for one in found]


def _without_others(group: FailureGroup) -> FailureGroup:
    """Return the group without text that may come from a queue that is not reached: example, redrive, notes."""
    care = copy(group.care)
    if care is not None:
        care.note = care.runbook_url = ""
    return replace(group, error=None, template=None, again_redrive_id=None, care=care)


def read_courses(
    fingerprints: Sequence[str], queue_ids: Sequence[int] | None, step: timedelta, reach: timedelta
) -> dict[str, list[tuple[datetime, int]]]:
    """Count the failures of each group in every step up to now, the oldest first. One query."""
    moments = _moments(step, reach)
    scope = list(queue_ids) if queue_ids is not None else None
    counted = numbers.deaths_by_step(list(fingerprints), scope, moments[0], step)
    return {one: [(moment, counted.get((one, moment), 0)) for moment in moments] for one in fingerprints}


def _moments(step: timedelta, reach: timedelta) -> list[datetime]:
    """List the beginnings of all steps; steps begin at multiples of their length since the year 2000."""
    epoch = datetime(2000, 1, 1, tzinfo=UTC)
    last = epoch + (datetime.now(UTC) - epoch) // step * step
    return [last - step * back for back in reversed(range(reach // step))]


@dataclass(frozen=True)
class _Sources:
    """Source queues of one failure group: those that may be named, their number, and their dead letters."""

    named: Sequence[Source] = ()
    count: int = 0
    dead: int = 0
    deaths: int = 0
    others: int = 0


def _sources(heads: list[str], queue_ids: Sequence[int] | None, reached: Sequence[int] | None) -> dict[str, _Sources]:
    """Return the source queues of each failure group, by its fingerprint. Queues out of reach are not named."""
    scope = list(queue_ids) if queue_ids is not None else None
    told = list(reached) if reached is not None else None
    found: dict[str, _Sources] = {}
    for head, queue, tenant, dead, deaths, count, others, all_dead, all_deaths, is_told in numbers.sources(
        heads, scope, told, MAX_SOURCES
    ):
        known = found.get(head, _Sources())
        named = [*known.named, Source(queue, tenant, int(dead), int(deaths))] if is_told else known.named
        found[head] = _Sources(named, count, int(all_dead or 0), int(all_deaths or 0), others)
    return found


# The columns of `numbers.facts` after the fingerprint.
_FACTS = (
    *("members", "reason", "error_class", "error", "template", "frame", "first_seen", "last_seen"),
    *("again_at", "again_redrive_id", "failures"),
)


def _group(
    fingerprint: str,
    facts: tuple[Any, ...],
    sources: dict[str, _Sources],
    course: list[tuple[datetime, int]],
    care: GroupNote | None,
) -> FailureGroup:
    of = sources.get(fingerprint, _Sources())
    counted = {"dead": of.dead, "deaths": of.deaths, "sources": of.named, "source_count": of.count}
    described: dict[str, Any] = dict(zip(_FACTS, facts, strict=True)) | counted
    return FailureGroup(fingerprint, **described, course=course, care=care, is_shared=of.others > 0)
