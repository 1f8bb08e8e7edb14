"""Conditions of each kind of key on one column, and how conditions join.

A kind gives alternatives, of which one must hold. `text` has the kinds of text, `documents` those inside a payload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import LiteralString

from dlq.filters.documents import anywhere, inside
from dlq.filters.keys import Kind
from dlq.filters.readings import Moment, duration, moment, whole_number
from dlq.filters.syntax import Comparison, Operator, Range, Term
from dlq.filters.text import OPERATORS, classes, equal, message_ids, names, queue_names, substrings
from queues.database.names import QUEUE_IDS, TENANT_QUEUE_IDS
from queues.database.query import Parameter, Predicate

Condition = Callable[[LiteralString, Term, datetime], list[Predicate]]
"""Function of a column, a term and the present time. It returns alternatives, of which one must hold."""

_MIRRORED: Mapping[Operator, LiteralString] = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


def every(parts: Sequence[Predicate]) -> Predicate:
    """Join parts that must all hold; true when there is none."""
    return _joined(" and ", parts) if parts else Predicate("true", [])


def either(parts: Sequence[Predicate]) -> Predicate:
    """Join parts of which at least one must hold, in parentheses where `and` needs them."""
    joined = _joined(" or ", parts)
    return Predicate(f"({joined.sql})", joined.params) if len(parts) > 1 else joined


def negation(part: Predicate) -> Predicate:
    """Negate a part so that NULL matches: `-class:TimeoutError` finds dead letters without a class too."""
    return Predicate(f"({part.sql}) is not true", part.params)


def _joined(word: LiteralString, parts: Sequence[Predicate]) -> Predicate:
    sql = word.join(part.sql for part in parts)
    return Predicate(sql, [param for part in parts for param in part.params])


def _queues(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    return [Predicate(f"{column} = any({QUEUE_IDS})", [term.literals])]


def _tenants(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    return [Predicate(f"{column} = any({TENANT_QUEUE_IDS})", [term.literals])]


def _words(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    """Compare each column as its type allows: names of queues, numbers, documents and text."""
    return _WORDS.get(column.rpartition(".")[2], substrings)(column, term, now)


def _wholes(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    bounds = [_bounded(column, "bigint", bound, OPERATORS, whole_number) for bound in term.bounds]
    return equal(column, "bigint", [whole_number(text) for text in term.literals]) + bounds


def _ages(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    """Compare a time with an age: `age:>2h` means earlier than two hours before now."""

    def moment_of(text: str) -> datetime:
        return now - duration(text)

    return [_bounded(column, "timestamptz", bound, _MIRRORED, moment_of) for bound in term.bounds]


def _bounded(
    column: LiteralString,
    cast: LiteralString,
    bound: Comparison | Range,
    operators: Mapping[Operator, LiteralString],
    read: Callable[[str], Parameter],
) -> Predicate:
    if isinstance(bound, Range):
        low, high = (bound.low, bound.high) if operators is OPERATORS else (bound.high, bound.low)
        return Predicate(f"{column} between %s::{cast} and %s::{cast}", [read(low), read(high)])
    return Predicate(f"{column} {operators[bound.operator]} %s::{cast}", [read(bound.text)])


def _times(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    bounds = [*(Range(text, text) for text in term.literals), *term.bounds]
    return [_time(column, bound) for bound in bounds]


def _time(column: LiteralString, bound: Comparison | Range) -> Predicate:
    if isinstance(bound, Range):
        ends: list[Parameter] = [moment(bound.low).start, moment(bound.high).end]
        return Predicate(f"({column} >= %s::timestamptz and {column} < %s::timestamptz)", ends)
    operator, end = _time_bound(bound.operator, moment(bound.text))
    return Predicate(f"{column} {operator} %s::timestamptz", [end])


def _time_bound(operator: Operator, named: Moment) -> tuple[LiteralString, datetime]:
    """Return the comparison with a date, which is a whole day: `>` is from its end on, `<=` is before its end."""
    match operator:
        case ">":
            return ">=", named.end
        case ">=":
            return ">=", named.start
        case "<":
            return "<", named.start
        case "<=":
            return "<", named.end


_WORDS: Mapping[str, Condition] = {
    "queue_id": queue_names,
    "source_queue_id": queue_names,
    "message_id": message_ids,
    "payload": anywhere,
}
CONDITIONS: Mapping[Kind, Condition] = {
    Kind.QUEUE: _queues,
    Kind.TENANT: _tenants,
    Kind.CHOICE: names,
    Kind.NAME: names,
    Kind.CLASS: classes,
    Kind.SUBSTRING: substrings,
    Kind.WORDS: _words,
    Kind.WHOLE: _wholes,
    Kind.AGE: _ages,
    Kind.TIME: _times,
    Kind.JSON: inside,
}
