"""Compiler of terms into one SQL condition. User text leaves here only as bound parameters.

The SQL is put together from literals of this package, chosen by looking words up in tables, never by
quoting. It is written for the indexes of the dead letters: names become ids in an array computed once,
equality inside a document becomes containment, and a single value compares by `=`, so that one index gives
both the rows and their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import LiteralString

from dlq.filters.conditions import CONDITIONS, either, every, negation
from dlq.filters.keys import KEYS, STATES, Kind, Target
from dlq.filters.syntax import Term
from queues.database.names import reached_queue_ids
from queues.database.query import Predicate
from queues.reach import Reach


def compile_terms(terms: Sequence[Term], target: Target, now: datetime) -> Predicate:
    """Compile terms that must all match; ages count up to `now`.

    Raises `FilterError` for a key that the target cannot answer.
    """
    if now.tzinfo is None:
        raise ValueError("now needs a time zone")
    return every([_term(term, target, now) for term in terms])


def reached(reach: Reach, target: Target) -> Predicate:
    """Return the condition of rows within reach: dead letters by where they died, messages by their queue."""
    queue_ids, params = reached_queue_ids(reach)
    column: LiteralString = "d.source_queue_id" if target is Target.DEAD_LETTER else "m.queue_id"
    return Predicate(f"{column} = any({queue_ids})", params)


def admits(term: Term, target: Target) -> bool:
    """Tell whether a `state:` term can match rows of the target."""
    states = _states(term, target)
    return "true" not in states if term.negated else bool(states)


def _term(term: Term, target: Target, now: datetime) -> Predicate:
    term.check_target(target)
    key = KEYS[term.key]
    if key.kind is Kind.STATE:
        matching = _state(term, target)
    else:
        condition = CONDITIONS[key.kind]
        matching = either([part for column in key.columns[target] for part in condition(column, term, now)])
    return negation(matching) if term.negated else matching


def _state(term: Term, target: Target) -> Predicate:
    states = _states(term, target)
    if not states:
        return Predicate("false", [])
    return Predicate("true", []) if "true" in states else either([Predicate(state, []) for state in states])


def _states(term: Term, target: Target) -> list[LiteralString]:
    """Return the SQL condition of each state that the term names, for this target."""
    words = STATES.get(target, {})
    return list(dict.fromkeys(words[word] for word in term.literals if word in words))
