"""Conditions on a value at a path of a document, or anywhere in it.

Equality at a path is containment, which a GIN index serves. Comparisons, patterns and presence follow a strict JSON
path, which steps into objects by name and into lists where `[]` says so, as containment does, and finds nothing where
the document has another shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import LiteralString

from dlq.filters.readings import is_json_scalar, json_number
from dlq.filters.syntax import Comparison, Each, Literal, Path, Pattern, Present, Range, Term
from dlq.filters.text import MATCHES, OPERATORS, like_within
from queues.database.query import Parameter, Predicate

ANYWHERE = "strict $.**"
"""The JSON path to every value of a document."""
_TEXTS: LiteralString = (
    "exists (select from jsonb_path_query({column}, %s::jsonpath, '{{}}'::jsonb, true) one(value)"
    " where jsonb_typeof(one.value) in ('string', 'number', 'boolean') and (one.value #>> '{{}}') {condition})"
)
"""A condition on the text of a string, a number or a truth value at a JSON path; never of lists and objects."""


def inside(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    """Return the conditions on the value at the term's path."""
    tests = [value for value in term.values if isinstance(value, Comparison | Range | Present)]
    paths = [_at_path(column, term.path, value) for value in tests]
    patterns = [_matching(column, f"strict {_steps(term.path)}", one) for one in term.patterns]
    return _contained(column, term) + paths + patterns


def anywhere(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    """Return the conditions on the text of any value in a document."""
    literals = [_containing(column, term.literals)] if term.literals else []
    return literals + [_matching(column, ANYWHERE, one) for one in term.patterns]


def _containing(column: LiteralString, texts: Sequence[str]) -> Predicate:
    """Search the document as text first: most documents do not contain the text, and need no JSON path."""
    values = _texts(column, "ilike any(%s::text[])")
    params: list[Parameter] = [like_within(quoted(text)[1:-1] for text in texts), ANYWHERE, like_within(texts)]
    return Predicate(f"({column}::text ilike any(%s::text[]) and {values})", params)


def _matching(column: LiteralString, path: str, pattern: Pattern) -> Predicate:
    return Predicate(_texts(column, f"{MATCHES[pattern.ignores_case]} %s::text"), [path, pattern.text])


def _texts(column: LiteralString, condition: LiteralString) -> LiteralString:
    return _TEXTS.format(column=column, condition=condition)


def _contained(column: LiteralString, term: Term) -> list[Predicate]:
    literals = [value for value in term.values if isinstance(value, Literal)]
    documents = [_nested(term.path, leaf) for literal in literals for leaf in _leaves(literal)]
    if len(documents) == 1:
        return [Predicate(f"{column} @> %s::jsonb", [documents[0]])]
    return [Predicate(f"{column} @> any(%s::jsonb[])", [documents])] if documents else []


def _leaves(literal: Literal) -> list[str]:
    """Return what a literal may mean: without quotes, a JSON number, true, false or null, or the string."""
    string = quoted(literal.text)
    scalar = not literal.string_only and is_json_scalar(literal.text)
    return [literal.text, string] if scalar else [string]


def _nested(path: Path, leaf: str) -> str:
    for step in reversed(path):
        leaf = f"[{leaf}]" if isinstance(step, Each) else f"{{{quoted(step)}: {leaf}}}"
    return leaf


def _at_path(column: LiteralString, path: Path, value: Comparison | Range | Present) -> Predicate:
    """Compare with a number, which leaves other types out: the path's filter is unknown for them."""
    test, bounds = "", dict[str, str]()
    match value:
        case Comparison():
            test, bounds = f" ? (@ {OPERATORS[value.operator]} $bound)", {"bound": value.text}
        case Range():
            test, bounds = " ? (@ >= $low && @ <= $high)", {"low": value.low, "high": value.high}
    sql = f"jsonb_path_exists({column}, %s::jsonpath, %s::jsonb, true)"
    return Predicate(sql, [f"strict {_steps(path)}{test}", _object(bounds)])


def _steps(path: Path) -> str:
    """Write the path as a strict JSON path.

    A missing name ends a strict search, so each step after a list checks first that its name exists. Otherwise an
    element without the name would hide the other elements of the list.
    """
    steps, behind_list = ["$"], False
    for step in path:
        if isinstance(step, Each):
            steps.append(' ? (@.type() == "array")[*]')
            behind_list = True
        else:
            name = f".{quoted(step)}"
            steps.append(f" ? (exists (@{name})){name}" if behind_list else name)
    return "".join(steps)


def _object(numbers: Mapping[str, str]) -> str:
    """Write numbers as a JSON object, in full precision. Each is parsed first, so that no other text gets in."""
    members = (f"{quoted(name)}: {json_number(text)}" for name, text in numbers.items())
    return f"{{{', '.join(members)}}}"


def quoted(text: str) -> str:
    """Write a JSON string as PostgreSQL writes it."""
    return json.dumps(text, ensure_ascii=False)
