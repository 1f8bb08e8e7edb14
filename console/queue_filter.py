"""The overview's filter, asked of the fleet that is in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from console.fleet import Fleet, Standing
from console.terms import Key, Term, parse
from console.verdicts import Health, judge

KEYS = {
    "queue": Key("Part of the queue's name."),
    "tenant": Key("The tenant that owns the queue."),
    "health": Key("How the queue stands.", tuple(Health)),
    "is": Key("A trait; dlq shows dead-letter queues.", ("closed", "dlq", "empty", "idle")),
}


def select(fleet: Fleet, text: str) -> Sequence[Standing]:
    """The queues that `text` selects, worst first; raises FilterError at its first mistake.

    Dead-letter queues take part only when the filter asks for them: their messages count at their source.
    """
    terms = parse(text, KEYS, wordless="queue")
    standings = list(fleet.standings)
    if any(term.key == "is" and "dlq" in term.values and not term.negated for term in terms):
        standings += [Standing(numbers, judge(numbers)) for numbers in fleet.dead_letter_queues]
    return [standing for standing in standings if all(_matches(term, standing) for term in terms)]


def _matches(term: Term, standing: Standing) -> bool:
    return any(_TESTS[term.key](standing, value) for value in term.values) is not term.negated


def _is(standing: Standing, word: str) -> bool:
    numbers = standing.numbers
    return {
        "closed": numbers.closed,
        "dlq": numbers.is_dead_letter_queue,
        "empty": not (numbers.ready or numbers.leased or numbers.scheduled or numbers.waiting or numbers.dead),
        "idle": not (numbers.in_per_second or numbers.out_per_second),
    }[word]


_TESTS: dict[str, Callable[[Standing, str], bool]] = {
    "queue": lambda one, value: value.lower() in one.numbers.name.lower(),
    "tenant": lambda one, value: value.lower() == one.numbers.tenant.lower(),
    "health": lambda one, value: value == one.verdict.health,
    "is": _is,
}
