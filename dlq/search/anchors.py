"""Anchors of a search: values of indexed columns that stand for one term of a filter.

Each value is read by the index of its column, in the order of the ids, so that a page costs the same with any number of
dead letters. A part of a name is looked up first, among the names of all queues and classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from dlq.filters import Term
from dlq.filters.text import class_ends, like_within, short_names, whole_numbers
from queues.database.query import Parameter, Query
from queues.database.time_limits import OutOfTime, time_limit
from queues.dead_letters import ids, known

MAX_ANCHORS = 40
"""Limit of anchors. Reading more of them costs more than reading along the primary key."""
LOOK_UP_MILLISECONDS = 300

Anchor = tuple[LiteralString, Parameter]
"""A column of `d` and its value."""
QUEUE_COLUMNS: tuple[LiteralString, ...] = ("d.source_queue_id", "d.queue_id")


@dataclass(frozen=True)
class Anchored:
    """A term of a filter, and the anchors that replace it."""

    term: Term
    anchors: tuple[Anchor, ...]


def narrows(term: Term) -> bool:
    """Tell whether the term may have anchors: it compares an indexed column with single values."""
    return term.key in _LOOK_UPS and not term.negated and len(term.literals) == len(term.values)


def of(terms: Sequence[Term]) -> Anchored | None:
    """Return the anchors of the first term that has some; a queue narrows most, so it comes first."""
    for key, look_up in _LOOK_UPS.items():
        for term in terms:
            if term.key == key and narrows(term):
                found = look_up(term)
                if found is not None:
                    return Anchored(term, tuple(dict.fromkeys(found)))
    return None


def _queues(term: Term) -> list[Anchor]:
    return _of_queues(ids.ids_of_queues(term.literals))


def _fingerprints(term: Term) -> list[Anchor]:
    return [("d.fingerprint", one) for one in term.literals]


def _classes(term: Term) -> list[Anchor] | None:
    """Return the full names of classes; None where there are too many to look up."""
    short = short_names(term)
    found = _looked_up(known.classes_named(short, class_ends(term), MAX_ANCHORS + 1)) if short else []
    full = [one for one in term.literals if one not in short]
    return None if found is None else _few([("d.error_class", one) for one in [*full, *found]])


def _names(term: Term) -> list[Anchor] | None:
    """Return the classes, queues and message ids that a word names; None where there are too many of them."""
    like, most = like_within(term.literals), MAX_ANCHORS + 1
    classes = _looked_up(known.classes_containing(like, most))
    queues = _looked_up(known.queues_containing(like, most))
    if classes is None or queues is None:
        return None
    numbers: list[Anchor] = [("d.message_id", one) for one in whole_numbers(term.literals)]
    return _few([*numbers, *(("d.error_class", one) for one in classes), *_of_queues(queues)])


_LOOK_UPS: Mapping[str, Callable[[Term], list[Anchor] | None]] = {
    "queue": _queues,
    "fp": _fingerprints,
    "class": _classes,
    "name": _names,
}


def _of_queues(queue_ids: Iterable[int]) -> list[Anchor]:
    return [(column, one) for one in queue_ids for column in QUEUE_COLUMNS]


def _looked_up(query: Query) -> list[Any] | None:
    """Return the values of a query; None when it takes too long."""
    try:
        with time_limit(LOOK_UP_MILLISECONDS):
            return query.column()
    except OutOfTime:
        return None


def _few(found: list[Anchor]) -> list[Anchor] | None:
    return found if len(found) <= MAX_ANCHORS else None
