"""Failure groups in order, a page at a time, narrowed by a filter on dead letters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dlq.failure_groups.reading import FailureGroup, State, read_groups
from dlq.filters import Literal, Term
from dlq.filters.text import like_within
from dlq.search.checked_filter import CheckedFilter
from dlq.search.pages import Page, PagePosition, page_of
from queues.database import names
from queues.database.names import reached_ids
from queues.database.time_limits import OutOfTime, time_limit
from queues.failure_groups.order import Sort, Wanted, Word, keys
from queues.reach import EVERYTHING, Reach

PAGE_GROUPS = 25
LIST_GROUPS_MILLISECONDS = 2_000


@dataclass(frozen=True)
class Narrowing(Wanted):
    """Part of a filter on dead letters that failure groups can answer; `unasked` are the other terms."""

    state: State | None = None
    unasked: tuple[Term, ...] = ()
    reached: tuple[int, ...] | None = None
    """Ids of the queues that the reader may see; None: all queues."""

    @classmethod
    def of(cls, filter: CheckedFilter, state: State | None = None) -> Narrowing:
        """Look up the queues of `queue:` and `tenant:`, in one query."""
        known = {"queue", "tenant", "class", "reason", "fp"}
        asked = [term for term in filter.filter.terms if term.key in known and _plain(term)]
        asked = [term for index, term in enumerate(asked) if term.key not in {one.key for one in asked[:index]}]
        words = [term for term in filter.filter.terms if term.key in ("text", "name") and _plain(term)]
        if not filter.reach.is_everything:  # the sample error of a group may be of a queue that the reader may not see
            words = []
        values = {term.key: tuple(term.literals) for term in asked}
        queue_ids, holders = names.queues_asked_for(values.get("queue"), values.get("tenant"))
        if holders:  # groups count by source queue, not by dead-letter queue
            asked = [term for term in asked if term.key not in ("queue", "tenant")]
            queue_ids = None
        reached = reached_ids(filter.reach)
        if reached is not None:
            queue_ids = reached if queue_ids is None else tuple(set(queue_ids) & set(reached))
        unasked = tuple(term for term in filter.filter.terms if term not in [*asked, *words])
        classes, reasons, fingerprints = (values.get(key, ()) for key in ("class", "reason", "fp"))
        sought = [Word(like_within(term.literals), term.key == "text") for term in words]
        return cls(queue_ids, classes, reasons, fingerprints, state, sought, unasked, reached)

    @classmethod
    def of_holder(cls, name: str, reach: Reach = EVERYTHING) -> Narrowing:
        """Narrow the groups to the source queues of a dead-letter queue, without queues that are out of reach."""
        senders, reached = names.source_ids(name), reached_ids(reach)
        return cls(senders if reached is None else tuple(set(senders) & set(reached)), reached=reached)


def list_groups(
    narrowing: Narrowing, sort: Sort = Sort.WORST, place: PagePosition | None = None, size: int = PAGE_GROUPS
) -> Page[FailureGroup] | None:
    """Read a page of failure groups; None if there was no time to sum them up."""
    place = place or PagePosition()
    try:
        with time_limit(LIST_GROUPS_MILLISECONDS):
            rows = keys(narrowing, sort, _mark(sort, place), size + 1, backwards=place.backwards).rows()
            groups = read_groups([row[0] for row in rows], narrowing.queue_ids, narrowing.reached)
    except OutOfTime:
        return None
    cursors = {row[0]: _cursor(sort, row) for row in rows}
    return page_of(groups, size, place, [cursors[one.fingerprint] for one in groups])


def _plain(term: Term) -> bool:
    return not term.negated and all(isinstance(value, Literal) for value in term.values)


def _cursor(sort: Sort, row: tuple[str, int, datetime]) -> str:
    fingerprint, dead, last_seen = row
    number = dead if sort is Sort.WORST else (last_seen - _EPOCH) // timedelta(microseconds=1)
    return f"{number}~{fingerprint}"


def _mark(sort: Sort, place: PagePosition) -> tuple[int | datetime, str] | None:
    """Read a cursor; an edited address leads to the first page."""
    number, _, fingerprint = (place.before or place.after).partition("~")
    if not (number.isascii() and number.isdigit() and len(number) < 18 and fingerprint):
        return None
    if sort is Sort.WORST:
        return int(number), fingerprint
    return _EPOCH + timedelta(microseconds=int(number)), fingerprint


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
