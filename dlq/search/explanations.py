"""Explanations of an empty list: which term finds nothing, and what was probably meant.

Each looks at a bounded number of names and of the newest dead letters within reach, in bounded time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dlq.filters import Filter, Literal, Term
from dlq.filters.suggest import closest
from dlq.search.checked_filter import CheckedFilter
from dlq.search.samples import Place, read_in_time
from dlq.search.suggestions import newest_classes
from queues.database import names
from queues.database.query import Query
from queues.dead_letters.rows import live_fingerprints

MAX_EXPLANATIONS = 3
MAX_NAMES = 1_000
"""Limit of names with which a misspelled name is compared."""
MAX_COMPARED = 100
"""Characters of a name."""


@dataclass(frozen=True)
class Explanation:
    """A sentence about one term; `instead` is the whole filter with the value that was probably meant."""

    sentence: str
    meant: str = ""
    instead: str = ""
    message_id: int | None = None
    """The message that the term names, which may be in another state."""


def explain(filter: CheckedFilter, place: Place) -> list[Explanation]:
    """Explain why the filter may find nothing: at most MAX_EXPLANATIONS sentences, each about one term."""
    said: list[Explanation] = []
    for term in filter.filter.terms:
        look = _LOOKS.get(term.key)
        if look is not None and not term.negated and len(said) < MAX_EXPLANATIONS:
            said += look(filter.filter, term, place)
    return said[:MAX_EXPLANATIONS]


def _queues(filter: Filter, term: Term, place: Place) -> list[Explanation]:
    return _unknown(filter, term, "queue", names.queues("", place.reach, MAX_NAMES))


def _tenants(filter: Filter, term: Term, place: Place) -> list[Explanation]:
    return _unknown(filter, term, "tenant", names.tenants("", place.reach, MAX_NAMES))


def _unknown(filter: Filter, term: Term, noun: str, query: Query) -> list[Explanation]:
    known = [row[0] for row in read_in_time(query)]
    missing = [one for one in term.literals if one not in known] if 0 < len(known) < MAX_NAMES else []
    return [_meaning(filter, term, one, f"There is no {noun} {one[:80]}.", known) for one in missing]


def _classes(filter: Filter, term: Term, place: Place) -> list[Explanation]:
    known = newest_classes(place)
    ends = {one.rpartition(".")[2] for one in known}
    return [
        _meaning(filter, term, one, f"No recent dead letter has the class {one[:80]}.", sorted(ends))
        for one in term.literals
        if one not in ends and one not in known
    ]


def _words(filter: Filter, term: Term, place: Place) -> list[Explanation]:
    """Suggest classes and queues with a similar name; a number may be the id of a message in another state."""
    classes = {one.rpartition(".")[2] for one in newest_classes(place)}
    known = [*sorted(classes), *(row[0] for row in read_in_time(names.queues("", place.reach, MAX_NAMES)))]
    unknown = [one for one in term.literals if not any(one.lower() in name.lower() for name in known)]
    said = [_meaning(filter, term, one, f"No row shows {one[:80]}.", known) for one in unknown]
    return [one for one in said if one.meant or one.message_id is not None]


def _states(filter: Filter, term: Term, place: Place) -> list[Explanation]:
    if Filter((term,)).admits(place.target):
        return []
    return [Explanation(f"This list has {place.target.phrase} only, and none of them is {' or '.join(term.literals)}.")]


def _fingerprints(filter: Filter, term: Term, place: Place) -> list[Explanation]:
    known = live_fingerprints(term.literals)
    return [
        Explanation(f"No failure group has the fingerprint {one[:80]}.") for one in term.literals if one not in known
    ]


def _ids(filter: Filter, term: Term, place: Place) -> list[Explanation]:
    said = [f"Message {one} is not among {place.target.phrase}." for one in term.literals]
    return [replace(_numbered(one), sentence=text) for one, text in zip(term.literals, said, strict=True)]


def _numbered(text: str) -> Explanation:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
    return Explanation("", message_id=number)


def _meaning(filter: Filter, term: Term, text: str, sentence: str, known: Sequence[str]) -> Explanation:
    """Suggest the name that was probably meant: one that contains the text, or else the most similar one."""
    meant = next((one for one in known if text.lower() in one.lower()), None) or _nearest(text, known)
    if meant is None or meant == text:
        return replace(_numbered(text), sentence=sentence)
    values = tuple(Literal(meant) if value == Literal(text) else value for value in term.values)
    fixed = replace(term, values=values)
    terms = tuple(fixed if other is term else other for other in filter.terms)
    shown = meant if term.key == "text" else str(replace(term, values=(Literal(meant),)))
    return Explanation(sentence, shown, str(Filter(terms)))


def _nearest(text: str, known: Iterable[str]) -> str | None:
    if len(text) > MAX_COMPARED:
        return None
    lowered = {one.lower(): one for one in known}
    found = closest(text, lowered)
    return lowered[found] if found is not None else None


_LOOKS: Mapping[str, Callable[[Filter, Term, Place], list[Explanation]]] = {
    "queue": _queues,
    "tenant": _tenants,
    "state": _states,
    "text": _words,
    "name": _words,
    "class": _classes,
    "fp": _fingerprints,
    "id": _ids,
}
