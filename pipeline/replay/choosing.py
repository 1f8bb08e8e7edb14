"""Translate filters to conditions on Spark's columns, for the archive.

Keys mean the same as in the database. A filter with a key that the archive does not have is refused before any file is
read.
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
"""Kinds of archived rows that have a body, and can be sent again."""
STATES: Mapping[str, Mapping[str, str]] = {
    "settled": {"completed": "outcome = 'acked'"},
    "dead_letters": {"dead": "true"},
}

_COLUMNS_OF_BOTH = {name: name for name in ("queue", "tenant", "priority", "consumer", "payload")} | {
    "state": "",
    "group": "group_id",
    "attempts": "receive_count",
    "sent": "sent_at",
    "trace": "trace_id",
    "dedup": "deduplication_id",
    "id": "message_id",
    "attr": "attributes",
}
_COLUMNS_OF_DEAD_LETTERS = {name: name for name in ("error", "reason")} | {
    "class": "error_class",
    "fp": "fingerprint",
    "redrives": "redrive_count",
    "dead": "died_at",
}
COLUMNS: Mapping[str, Mapping[str, str]] = {
    **{key: dict.fromkeys(KINDS, column) for key, column in _COLUMNS_OF_BOTH.items()},
    **{key: {"dead_letters": column} for key, column in _COLUMNS_OF_DEAD_LETTERS.items()},
    "age": {"settled": "sent_at", "dead_letters": "died_at"},
}
"""The column of each key and kind. The age of a settled message counts from its sending, as in the database."""
_DEAD_NAMES, _SETTLED_NAMES = ("error_class", "queue", "message_id"), ("queue", "message_id", "group_id")
WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "name": {"dead_letters": _DEAD_NAMES, "settled": _SETTLED_NAMES},
    "text": {"dead_letters": (*_DEAD_NAMES, "error", "payload"), "settled": (*_SETTLED_NAMES, "payload")},
}
"""The columns that a word searches, by key and kind."""


def check(filter: Filter, kinds: Sequence[str]) -> None:
    """Check that each kind has the key of every term. Raises `FilterError` at the first that it does not have."""
    for term in filter.terms:
        for kind in kinds:
            _check(term, kind)


def columns(filter: Filter, kind: str) -> set[str]:
    """List the columns that the filter reads."""
    read = {column for term in filter.terms for column in _columns_of(term, kind)}
    return read - {""} | ({"outcome"} if kind == "settled" else set())


def condition(filter: Filter, kind: str, now: datetime) -> Column:
    """Build the condition for rows of this kind; ages count back from `now`."""
    from pyspark.sql import functions as f

    check(filter, [kind])
    return reduce(lambda first, second: first & second, [_term(term, kind, now) for term in filter.terms], f.lit(True))


def _columns_of(term: Term, kind: str) -> tuple[str, ...]:
    return WORDS[term.key][kind] if term.key in WORDS else (COLUMNS[term.key][kind],)


def _check(term: Term, kind: str) -> None:
    by_kind = WORDS.get(term.key) or COLUMNS.get(term.key)
    if by_kind is None:
        raise term.error(f"{term.key}: is not in the archive.", "another key")
    if kind not in by_kind:
        only = " and ".join(KINDS[other] for other in by_kind)
        raise term.error(f"{term.key}: does not apply to archived {KINDS[kind]}.", f"{term.key}: only with {only}")
    unknown = [word for word in term.literals if not any(word in states for states in STATES.values())]
    if term.key == "state" and unknown:
        raise term.error(f"state:{unknown[0]} is not in the archive.", "state:completed or state:dead")
    for pattern in term.patterns:
        regexes.for_java(pattern)


def _term(term: Term, kind: str, now: datetime) -> Column:
    from pyspark.sql import functions as f

    if term.key == "state":
        words = STATES[kind]
        conditions = [f.expr(words[word]) for word in term.literals if word in words]
    else:
        conditions = [one for name in _columns_of(term, kind) for one in _conditions(name, term, now)]
    matching = f.coalesce(reduce(lambda first, second: first | second, conditions, f.lit(False)), f.lit(False))
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
    """Build the condition of an age: a higher age is an earlier time."""
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
    """Build the condition of a time. A date is a whole day: `>` begins at its end, and `<=` includes the day."""
    if isinstance(bound, Range):
        return (column >= moment(bound.low).start) & (column < moment(bound.high).end)
    named = moment(bound.text)
    sign, end = {">": (">=", named.end), ">=": (">=", named.start), "<": ("<", named.start), "<=": ("<", named.end)}[
        bound.operator
    ]
    compared: Column = COMPARE[sign](column, end)
    return compared


def _documents(column: Column, term: Term, now: datetime) -> list[Column]:
    path = [None if step is EACH else step for step in term.path]
    return [_of_documents(column, documents.asks(path, [_test(value) for value in term.values]))]


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
    return documents.containing(value.text) if isinstance(value, Literal) else _test(value)


def _test(value: Value) -> documents.Test:
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
