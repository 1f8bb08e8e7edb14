"""From terms to one SQL condition. User text leaves here only as bound parameters.

The SQL is put together from literals of this package, chosen by looking words up in tables, never by
quoting. It is written for the indexes of the dead letters: names become ids in an array computed once,
equality inside a document becomes containment, and a single value compares by `=`, so that one index gives
both the rows and their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import LiteralString

from dlq.filters.conditions import condition_of
from dlq.filters.keys import KEYS, STATES, Kind
from dlq.filters.predicates import Predicate, either, every, negation
from dlq.filters.syntax import Term
from dlq.filters.targets import Target
from queues.reach import Reach


def compile_terms(terms: Sequence[Term], target: Target, now: datetime) -> Predicate:
    """Compile terms that must all match; ages count up to `now`.

    Raises `FilterError` for a key that the target cannot answer.
    """
    if now.tzinfo is None:
        raise ValueError("now needs a time zone")
    return every([_term(term, target, now) for term in terms])


def reached(reach: Reach, target: Target) -> Predicate:
    """Of rows within reach: dead letters by where they died, messages by their queue."""
    condition, params = reach.condition()
    column: LiteralString = "d.source_queue_id" if target is Target.DEAD_LETTER else "m.queue_id"
    return Predicate(column + _REACHED_QUEUE_IDS.replace("{}", condition), params)


_REACHED_QUEUE_IDS: LiteralString = (
    " = any(array(select q.queue_id from signalbox.queue q join signalbox.tenant o on o.tenant_id = q.tenant_id"
    " where {}))"
)


def admits(term: Term, target: Target) -> bool:
    """Whether a `state:` term leaves anything of the target to look at."""
    states = _states(term, target)
    return "true" not in states if term.negated else bool(states)


def _term(term: Term, target: Target, now: datetime) -> Predicate:
    key = KEYS[term.key]
    if target not in key.columns:
        places = ", ".join(place.phrase for place in key.targets)
        raise term.error(f"{key.name}: cannot be asked of {target.phrase}.", f"{key.name}: only with {places}")
    if key.kind is Kind.STATE:
        matching = _state(term, target)
    else:
        condition = condition_of(key.kind)
        matching = either([part for column in key.columns[target] for part in condition(column, term, now)])
    return negation(matching) if term.negated else matching


def _state(term: Term, target: Target) -> Predicate:
    states = _states(term, target)
    if not states:
        return Predicate("false", [])
    return Predicate("true", []) if "true" in states else either([Predicate(state, []) for state in states])


def _states(term: Term, target: Target) -> list[LiteralString]:
    """The conditions on this target of the words that the term names."""
    words = STATES.get(target, {})
    return list(dict.fromkeys(words[word] for word in term.literals if word in words))
