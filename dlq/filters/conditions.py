"""How each kind of key becomes a condition on one column: alternatives, of which one must hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import LiteralString

from dlq.filters.documents import MATCHES, document_conditions
from dlq.filters.keys import Kind
from dlq.filters.predicates import Parameter, Predicate
from dlq.filters.readings import Moment, duration, moment, whole_number
from dlq.filters.syntax import Comparison, Operator, Present, Range, Term

Condition = Callable[[LiteralString, Term, datetime], list[Predicate]]

_QUEUE_IDS: LiteralString = "array(select queue_id from signalbox.queue where name = any(%s::text[]))"
_TENANT_QUEUE_IDS: LiteralString = (
    "array(select q.queue_id from signalbox.queue q join signalbox.tenant o on o.tenant_id = q.tenant_id"
    " where o.name = any(%s::text[]))"
)
# Looked up, not copied: what stands in the SQL comes from here whoever made the term.
_OPERATORS: Mapping[Operator, LiteralString] = {">": ">", ">=": ">=", "<": "<", "<=": "<="}
_MIRRORED: Mapping[Operator, LiteralString] = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_WILDCARD = re.compile(r"[\\%_]")


def condition_of(kind: Kind) -> Condition:
    """The function that turns a column, a term and the time now into alternatives."""
    return _CONDITIONS[kind]


def _queues(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    return [Predicate(f"{column} = any({_QUEUE_IDS})", [term.literals])]


def _tenants(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    return [Predicate(f"{column} = any({_TENANT_QUEUE_IDS})", [term.literals])]


def _names(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    return _equal(column, "text", term.literals) + _matching(column, term) + _present(column, term)


def _substrings(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    patterns = [_containing(text) for text in term.literals]
    like = [Predicate(f"{column} ilike any(%s::text[])", [patterns])] if patterns else []
    return like + _matching_last(column, term) + _present(column, term)


def _containing(text: str) -> str:
    escaped = _WILDCARD.sub(r"\\\g<0>", text)
    return f"%{escaped}%"


def _wholes(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    numbers = [whole_number(text) for text in term.literals]
    return _equal(column, "bigint", numbers) + [_whole(column, bound) for bound in term.bounds]


def _whole(column: LiteralString, bound: Comparison | Range) -> Predicate:
    if isinstance(bound, Range):
        ends: list[Parameter] = [whole_number(bound.low), whole_number(bound.high)]
        return Predicate(f"{column} between %s::bigint and %s::bigint", ends)
    return Predicate(f"{column} {_OPERATORS[bound.operator]} %s::bigint", [whole_number(bound.text)])


def _ages(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    return [_age(column, bound, now) for bound in term.bounds]


def _age(column: LiteralString, bound: Comparison | Range, now: datetime) -> Predicate:
    """Older than a duration is before now less that duration."""
    if isinstance(bound, Range):
        ends: list[Parameter] = [now - duration(bound.high), now - duration(bound.low)]
        return Predicate(f"{column} between %s::timestamptz and %s::timestamptz", ends)
    return Predicate(f"{column} {_MIRRORED[bound.operator]} %s::timestamptz", [now - duration(bound.text)])


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
    """A date is a whole day: after it means from its end on, up to it means before its end."""
    match operator:
        case ">":
            return ">=", named.end
        case ">=":
            return ">=", named.start
        case "<":
            return "<", named.start
        case "<=":
            return "<", named.end


def _documents(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    return document_conditions(column, term)


def _equal(column: LiteralString, cast: LiteralString, operands: list[str] | list[int]) -> list[Predicate]:
    if len(operands) == 1:
        return [Predicate(f"{column} = %s::{cast}", [operands[0]])]
    return [Predicate(f"{column} = any(%s::{cast}[])", [operands])] if operands else []


def _matching(column: LiteralString, term: Term) -> list[Predicate]:
    return [Predicate(f"{column} {MATCHES[one.ignores_case]} %s::text", [one.text]) for one in term.patterns]


def _matching_last(column: LiteralString, term: Term) -> list[Predicate]:
    """In a text of any length. As queries of their own: the planner tries a bare pattern on its samples of the column,
    and on rows before it has asked for their queue, so one text anywhere could stop every search by a pattern.
    """
    return [Predicate(f"(select {one.sql})", one.params) for one in _matching(column, term)]


def _present(column: LiteralString, term: Term) -> list[Predicate]:
    return [Predicate(f"{column} is not null", [])] if Present() in term.values else []


_CONDITIONS: Mapping[Kind, Condition] = {
    Kind.QUEUE: _queues,
    Kind.TENANT: _tenants,
    Kind.CHOICE: _names,
    Kind.NAME: _names,
    Kind.SUBSTRING: _substrings,
    Kind.WHOLE: _wholes,
    Kind.AGE: _ages,
    Kind.TIME: _times,
    Kind.JSON: _documents,
}
