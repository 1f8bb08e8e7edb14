"""The filter language over the archive: the same terms, as columns of Spark's.

What a key means is the same as in the database. One that the archive cannot answer is refused, by its name and before
anything is read: half a filter chooses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

from dlq.filters import (
    EACH,
    KEYS,
    Comparison,
    Filter,
    Kind,
    Literal,
    Pattern,
    Present,
    Range,
    Term,
    Value,
    short_names,
    whole_numbers,
)
from dlq.filters.readings import duration, is_json_scalar, moment, whole_number
from pipeline.replay import documents, regexes
from pipeline.replay.documents import COMPARE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

KINDS = {"settled": "settled messages", "dead_letters": "dead letters"}
"""Those that have a body, and so can be sent again."""
STATES: Mapping[str, Mapping[str, str]] = {
    "settled": {"completed": "outcome = 'acked'"},
    "dead_letters": {"dead": "true"},
}

_BOTH = {name: name for name in ("queue", "tenant", "priority", "consumer", "payload")} | {
    "state": "",
    "group": "group_id",
    "attempts": "receive_count",
    "sent": "sent_at",
    "trace": "trace_id",
    "dedup": "deduplication_id",
    "id": "message_id",
    "attr": "attributes",
}
_DEAD = {name: name for name in ("error", "reason")} | {
    "class": "error_class",
    "fp": "fingerprint",
    "redrives": "redrive_count",
    "dead": "died_at",
}
COLUMNS: Mapping[str, Mapping[str, str]] = {
    **{key: dict.fromkeys(KINDS, column) for key, column in _BOTH.items()},
    **{key: {"dead_letters": column} for key, column in _DEAD.items()},
    "age": {"settled": "sent_at", "dead_letters": "died_at"},
}
"""By key and kind; as in the database, the age of a settled message is since it was sent."""
_DEAD_NAMES, _SETTLED_NAMES = ("error_class", "queue", "message_id"), ("queue", "message_id", "group_id")
WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "name": {"dead_letters": _DEAD_NAMES, "settled": _SETTLED_NAMES},
    "text": {"dead_letters": (*_DEAD_NAMES, "error", "payload"), "settled": (*_SETTLED_NAMES, "payload")},
}
"""The columns that a word searches, by key and kind."""


def check(chosen: Filter, kinds: Sequence[str]) -> None:
    """Check that each kind can answer every term. Raises `FilterError` at the first that it cannot."""
    for term in chosen.terms:
        for kind in kinds:
            _check(term, kind)


def columns(chosen: Filter, kind: str) -> set[str]:
    """List the columns that the filter reads."""
    read = {column for term in chosen.terms for column in _columns_of(term, kind)}
    return read - {""} | ({"outcome"} if kind == "settled" else set())


def condition(chosen: Filter, kind: str, now: datetime) -> Column:
    """Build the condition of a row of the kind; ages count up to `now`."""
    from pyspark.sql import functions as f

    check(chosen, [kind])
    return reduce(lambda one, other: one & other, [_term(term, kind, now) for term in chosen.terms], f.lit(True))


def _columns_of(term: Term, kind: str) -> tuple[str, ...]:
    return WORDS[term.key][kind] if term.key in WORDS else (COLUMNS[term.key][kind],)


def _check(term: Term, kind: str) -> None:
    places = WORDS.get(term.key) or COLUMNS.get(term.key)
    if places is None:
        raise term.error(f"{term.key}: is not in the archive.", "another key")
    if kind not in places:
        only = " and ".join(KINDS[place] for place in places)
        raise term.error(
            f"{term.key}: cannot be asked of {KINDS[kind]} of the archive.", f"{term.key}: only with {only}"
        )
    if term.key == "state" and (
        unknown := [word for word in term.literals if not any(word in one for one in STATES.values())]
    ):
        raise term.error(f"state:{unknown[0]} is nothing that an archive holds.", "state:completed or state:dead")
    for pattern in term.patterns:
        regexes.for_java(pattern)


def _term(term: Term, kind: str, now: datetime) -> Column:
    from pyspark.sql import functions as f

    if term.key == "state":
        words = STATES[kind]
        found = [f.expr(words[word]) for word in term.literals if word in words]
    else:
        found = [one for name in _columns_of(term, kind) for one in _conditions(name, term, now)]
    matching = f.coalesce(reduce(lambda one, other: one | other, found, f.lit(False)), f.lit(False))
    return ~matching if term.negated else matching


Condition = Callable[["Column", Term, datetime], list["Column"]]


def _conditions(name: str, term: Term, now: datetime) -> list[Column]:
    """Build the conditions on one column. A word is compared as the type of each column allows."""
    from pyspark.sql import functions as f

    if term.key not in WORDS:
        return _CONDITIONS[KEYS[term.key].kind](f.col(name), term, now)
    if name == "payload":
        return [_of_documents(f.col(name), documents.asks_anywhere([_worded(value) for value in term.values]))]
    if name == "message_id":
        numbers = whole_numbers(term.literals)
        return [f.col(name).cast("long").isin(numbers)] if numbers else []
    return _substrings(f.col(name), term, now)


def _names(column: Column, term: Term, now: datetime) -> list[Column]:
    equal = [column.isin(term.literals)] if term.literals else []
    return equal + _matching_or_present(column, term)


def _classes(column: Column, term: Term, now: datetime) -> list[Column]:
    return _names(column, term, now) + [column.endswith(f".{text}") for text in short_names(term)]


def _substrings(column: Column, term: Term, now: datetime) -> list[Column]:
    from pyspark.sql import functions as f

    within = [f.lower(column).contains(f.lower(f.lit(text))) for text in term.literals]
    return within + _matching_or_present(column, term)


def _wholes(column: Column, term: Term, now: datetime) -> list[Column]:
    from pyspark.sql import functions as f

    number = column.cast("long")
    equal = [number.isin([whole_number(text) for text in term.literals])] if term.literals else []
    return equal + [
        number.between(f.lit(whole_number(bound.low)), f.lit(whole_number(bound.high)))
        if isinstance(bound, Range)
        else COMPARE[bound.operator](number, f.lit(whole_number(bound.text)))
        for bound in term.bounds
    ]


def _ages(column: Column, term: Term, now: datetime) -> list[Column]:
    """Build the condition of an age: older than a duration is before now less that duration."""
    mirrored = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
    return [
        column.between(now - duration(bound.high), now - duration(bound.low))
        if isinstance(bound, Range)
        else COMPARE[mirrored[bound.operator]](column, now - duration(bound.text))
        for bound in term.bounds
    ]


def _times(column: Column, term: Term, now: datetime) -> list[Column]:
    return [_time(column, bound) for bound in (*(Range(text, text) for text in term.literals), *term.bounds)]


def _time(column: Column, bound: Comparison | Range) -> Column:
    """A date is a whole day: after it means from its end on, up to it means before its end."""
    if isinstance(bound, Range):
        return (column >= moment(bound.low).start) & (column < moment(bound.high).end)
    named = moment(bound.text)
    sign, end = {">": (">=", named.end), ">=": (">=", named.start), "<": ("<", named.start), "<=": ("<", named.end)}[
        bound.operator
    ]
    found: Column = COMPARE[sign](column, end)
    return found


def _documents(column: Column, term: Term, now: datetime) -> list[Column]:
    path = [None if step is EACH else step for step in term.path]
    return [_of_documents(column, documents.asks(path, [_asked(value) for value in term.values]))]


def _of_documents(column: Column, holds: Callable[[str | None], bool]) -> Column:
    import pyarrow as pa
    from pyspark.sql.pandas.functions import arrow_udf

    def look(texts: pa.Array) -> pa.Array:
        return pa.array([holds(text) for text in texts.to_pylist()], pa.bool_())

    look.__annotations__ = {"texts": pa.Array, "return": pa.Array}
    made: Any = arrow_udf
    condition: Column = made(look, "boolean")(column)
    return condition


def _worded(value: Value) -> documents.Test:
    return documents.containing(value.text) if isinstance(value, Literal) else _asked(value)


def _asked(value: Value) -> documents.Test:
    match value:
        case Literal(text, string_only):
            return documents.equal(text, text if not string_only and is_json_scalar(text) else None)
        case Comparison(sign, text):
            return documents.between((sign, text))
        case Range(low, high):
            return documents.between((">=", low), ("<=", high))
        case Present():
            return documents.there
        case Pattern():
            return documents.matching(regexes.for_python(value), value.ignores_case)


def _matching_or_present(column: Column, term: Term) -> list[Column]:
    matching = [column.rlike(regexes.for_java(pattern)) for pattern in term.patterns]
    return matching + ([column.isNotNull()] if Present() in term.values else [])


_CONDITIONS: Mapping[Kind, Condition] = {
    **dict.fromkeys((Kind.QUEUE, Kind.TENANT, Kind.CHOICE, Kind.NAME), _names),
    Kind.CLASS: _classes,
    Kind.SUBSTRING: _substrings,
    Kind.WHOLE: _wholes,
    Kind.AGE: _ages,
    Kind.TIME: _times,
    Kind.JSON: _documents,
}
