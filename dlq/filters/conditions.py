"""Conditions of each kind of key on one column, and how conditions join.

A kind gives alternatives, of which one must hold. Inside a payload or the attributes equality is containment, which a
GIN index serves. Comparisons, patterns and presence follow a strict JSON path, which steps into objects by name and
into lists where `[]` says so, as containment does, and finds nothing where the document has another shape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import LiteralString

from dlq.filters.keys import Kind
from dlq.filters.readings import Moment, duration, is_json_scalar, json_number, moment, whole_number
from dlq.filters.syntax import Comparison, Each, Literal, Operator, Path, Pattern, Present, Range, Term
from queues.database.names import QUEUE_IDS, TENANT_QUEUE_IDS
from queues.database.query import Parameter, Predicate

Condition = Callable[[LiteralString, Term, datetime], list[Predicate]]
"""Turns a column, a term and the time now into alternatives."""

# Looked up, not copied: what stands in the SQL comes from here, never from a term.
_OPERATORS: Mapping[Operator, LiteralString] = {">": ">", ">=": ">=", "<": "<", "<=": "<="}
_MIRRORED: Mapping[Operator, LiteralString] = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
# The operators of PostgreSQL that match a regular expression, by whether they ignore case.
_MATCHES: Mapping[bool, LiteralString] = {False: "~", True: "~*"}
_WILDCARD = re.compile(r"[\\%_]")


def every(parts: Sequence[Predicate]) -> Predicate:
    """Join parts that must all hold; true when there is none."""
    return _joined(" and ", parts) if parts else Predicate("true", [])


def either(parts: Sequence[Predicate]) -> Predicate:
    """Join parts of which at least one must hold, ready to stand beside an `and`."""
    joined = _joined(" or ", parts)
    return Predicate(f"({joined.sql})", joined.params) if len(parts) > 1 else joined


def negation(part: Predicate) -> Predicate:
    """Return what the part does not match, unknown included: a missing error class is not TimeoutError either."""
    return Predicate(f"({part.sql}) is not true", part.params)


def _joined(word: LiteralString, parts: Sequence[Predicate]) -> Predicate:
    sql = word.join(part.sql for part in parts)
    return Predicate(sql, [param for part in parts for param in part.params])


def _queues(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    return [Predicate(f"{column} = any({QUEUE_IDS})", [term.literals])]


def _tenants(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    return [Predicate(f"{column} = any({TENANT_QUEUE_IDS})", [term.literals])]


def _names(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    return _equal(column, "text", term.literals) + _matching(column, term) + _present(column, term)


def _substrings(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    """Match a text of any length by a pattern in queries of their own: the planner tries a bare pattern on its samples
    of the column, and on rows before it has asked for their queue, so one text anywhere could stop every search.
    """
    parts = ["%" + _WILDCARD.sub(r"\\\g<0>", text) + "%" for text in term.literals]
    like = [Predicate(f"{column} ilike any(%s::text[])", [parts])] if parts else []
    last = [Predicate(f"(select {one.sql})", one.params) for one in _matching(column, term)]
    return like + last + _present(column, term)


def _wholes(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    bounds = [_bounded(column, "bigint", bound, _OPERATORS, whole_number) for bound in term.bounds]
    return _equal(column, "bigint", [whole_number(text) for text in term.literals]) + bounds


def _ages(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    """Compare with a moment: older than a duration means before now less that duration."""

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
        low, high = (bound.low, bound.high) if operators is _OPERATORS else (bound.high, bound.low)
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


def _equal(column: LiteralString, cast: LiteralString, operands: list[str] | list[int]) -> list[Predicate]:
    if len(operands) == 1:
        return [Predicate(f"{column} = %s::{cast}", [operands[0]])]
    return [Predicate(f"{column} = any(%s::{cast}[])", [operands])] if operands else []


def _matching(column: LiteralString, term: Term) -> list[Predicate]:
    return [Predicate(f"{column} {_MATCHES[one.ignores_case]} %s::text", [one.text]) for one in term.patterns]


def _present(column: LiteralString, term: Term) -> list[Predicate]:
    return [Predicate(f"{column} is not null", [])] if Present() in term.values else []


def _inside(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    tests = [value for value in term.values if isinstance(value, Comparison | Range | Present)]
    paths = [_at_path(column, term.path, value) for value in tests]
    return _contained(column, term) + paths + [_matching_inside(column, term.path, one) for one in term.patterns]


def _contained(column: LiteralString, term: Term) -> list[Predicate]:
    literals = [value for value in term.values if isinstance(value, Literal)]
    documents = [_nested(term.path, leaf) for literal in literals for leaf in _leaves(literal)]
    if len(documents) == 1:
        return [Predicate(f"{column} @> %s::jsonb", [documents[0]])]
    return [Predicate(f"{column} @> any(%s::jsonb[])", [documents])] if documents else []


def _leaves(literal: Literal) -> list[str]:
    """Return what a literal may mean: without quotes, a JSON number, true, false or null, or the string."""
    string = _quoted(literal.text)
    scalar = not literal.string_only and is_json_scalar(literal.text)
    return [literal.text, string] if scalar else [string]


def _nested(path: Path, leaf: str) -> str:
    for step in reversed(path):
        leaf = f"[{leaf}]" if isinstance(step, Each) else f"{{{_quoted(step)}: {leaf}}}"
    return leaf


def _at_path(column: LiteralString, path: Path, value: Comparison | Range | Present) -> Predicate:
    """Comparing with a number leaves other types out: the path's filter is unknown for them."""
    test, bounds = "", dict[str, str]()
    match value:
        case Comparison():
            test, bounds = f" ? (@ {_OPERATORS[value.operator]} $bound)", {"bound": value.text}
        case Range():
            test, bounds = " ? (@ >= $low && @ <= $high)", {"low": value.low, "high": value.high}
    sql = f"jsonb_path_exists({column}, %s::jsonpath, %s::jsonb, true)"
    return Predicate(sql, [f"strict {_steps(path)}{test}", _object(bounds)])


def _matching_inside(column: LiteralString, path: Path, pattern: Pattern) -> Predicate:
    """Strings, and numbers and truth values as they are written; never lists and objects."""
    sql: LiteralString = (
        f"exists (select from jsonb_path_query({column}, %s::jsonpath, '{{}}'::jsonb, true) one(value)"
        " where jsonb_typeof(one.value) in ('string', 'number', 'boolean')"
        f" and (one.value #>> '{{}}') {_MATCHES[pattern.ignores_case]} %s::text)"
    )
    return Predicate(sql, [f"strict {_steps(path)}", pattern.text])


def _steps(path: Path) -> str:
    """The path in the words of JSON. In strict mode what is missing ends the search: so each step behind a list asks
    first, or one element would hide those beside it.
    """
    steps, behind_list = ["$"], False
    for step in path:
        if isinstance(step, Each):
            steps.append(' ? (@.type() == "array")[*]')
            behind_list = True
        else:
            name = f".{_quoted(step)}"
            steps.append(f" ? (exists (@{name})){name}" if behind_list else name)
    return "".join(steps)


def _object(numbers: Mapping[str, str]) -> str:
    """Numbers as JSON, in full precision; each is read first, so that nothing else gets in."""
    members = (f"{_quoted(name)}: {json_number(text)}" for name, text in numbers.items())
    return f"{{{', '.join(members)}}}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


CONDITIONS: Mapping[Kind, Condition] = {
    Kind.QUEUE: _queues,
    Kind.TENANT: _tenants,
    Kind.CHOICE: _names,
    Kind.NAME: _names,
    Kind.SUBSTRING: _substrings,
    Kind.WHOLE: _wholes,
    Kind.AGE: _ages,
    Kind.TIME: _times,
    Kind.JSON: _inside,
}
