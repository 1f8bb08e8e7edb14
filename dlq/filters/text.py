"""Conditions on columns of text: equal, equal in the last part, containing, matching a pattern.

PostgreSQL's planner tries a bare pattern on its samples of the column, and on rows before it has asked for their
queue, so one text anywhere could stop every search. A pattern is therefore put into a subquery of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import LiteralString

from dlq.filters.readings import LARGEST_WHOLE
from dlq.filters.syntax import Operator, Present, Term
from queues.database.names import QUEUE_IDS_LIKE, queue_ids_matching
from queues.database.query import Predicate

# The operator in the SQL comes from this table, never from the text of a term.
OPERATORS: Mapping[Operator, LiteralString] = {">": ">", ">=": ">=", "<": "<", "<=": "<="}
# The operators of PostgreSQL that match a regular expression, by whether they ignore case.
MATCHES: Mapping[bool, LiteralString] = {False: "~", True: "~*"}
_WILDCARD = re.compile(r"[\\%_]")
_WHOLE = re.compile(r"[0-9]{1,19}")


def names(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    """Return the conditions of exactly this text."""
    return equal(column, "text", term.literals) + _matching(column, term) + present(column, term)


def classes(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    """Return the conditions of a class: its full name, or its last part."""
    ends = class_ends(term)
    behind_dot = [Predicate(f"{column} like any(%s::text[])", [ends])] if ends else []
    return equal(column, "text", term.literals) + behind_dot + _matching(column, term) + present(column, term)


def short_names(term: Term) -> list[str]:
    """Return the values of a `class:` term that may be the last part of a dotted name."""
    return [text for text in term.literals if text and "." not in text]


def class_ends(term: Term) -> list[str]:
    """Write patterns of LIKE for dotted names that end with these values."""
    return [f"%.{_escaped(text)}" for text in short_names(term)]


def substrings(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    """Return the conditions of text that contains the term's texts, in either case."""
    like = [Predicate(f"{column} ilike any(%s::text[])", [like_within(term.literals)])] if term.literals else []
    patterns = [Predicate(f"(select {one.sql})", one.params) for one in _matching(column, term)]
    return like + patterns + present(column, term)


def queue_names(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    """Return the conditions of a queue whose name contains the term's texts."""
    like = [Predicate(f"{column} = any({QUEUE_IDS_LIKE})", [like_within(term.literals)])] if term.literals else []
    return like + [
        Predicate(f"{column} = any({queue_ids_matching(MATCHES[one.ignores_case])})", [one.text])
        for one in term.patterns
    ]


def message_ids(column: LiteralString, term: Term, now: datetime) -> list[Predicate]:
    """Return the conditions of a message id: equal, since part of a number means nothing."""
    return equal(column, "bigint", whole_numbers(term.literals))


def whole_numbers(texts: Iterable[str]) -> list[int]:
    """Return those of the texts that are whole numbers a message id can have."""
    return [number for text in texts if _WHOLE.fullmatch(text) and (number := int(text)) <= LARGEST_WHOLE]


def equal(column: LiteralString, cast: LiteralString, operands: list[str] | list[int]) -> list[Predicate]:
    """Return the condition of equality with one of these operands."""
    if len(operands) == 1:
        return [Predicate(f"{column} = %s::{cast}", [operands[0]])]
    return [Predicate(f"{column} = any(%s::{cast}[])", [operands])] if operands else []


def present(column: LiteralString, term: Term) -> list[Predicate]:
    """Return the condition of `key:*`, if the term asks for it."""
    return [Predicate(f"{column} is not null", [])] if Present() in term.values else []


def like_within(texts: Iterable[str]) -> list[str]:
    """Write patterns of LIKE for any text that contains one of these."""
    return [f"%{_escaped(text)}%" for text in texts]


def _escaped(text: str) -> str:
    return _WILDCARD.sub(r"\\\g<0>", text)


def _matching(column: LiteralString, term: Term) -> list[Predicate]:
    return [Predicate(f"{column} {MATCHES[one.ignores_case]} %s::text", [one.text]) for one in term.patterns]
