"""The overview's filter, asked of the fleet that is in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from console.fleet import Fleet, Standing
from console.terms import Key, Term, parse
from console.verdicts import Health, judge
from queues.reach import SYSTEM_TENANT

KEYS = {
    "queue": Key("Part of the queue's name."),
    "tenant": Key("The tenant that owns the queue."),
    "health": Key("How the queue stands.", tuple(Health)),
    "is": Key(
        "A trait; dlq shows dead-letter queues, system the console's own.", ("closed", "dlq", "empty", "idle", "system")
    ),
}

#: Whose queues are the console's own: nobody is disturbed by them while they are well.


def select(fleet: Fleet, text: str) -> Sequence[Standing]:
    """The queues that `text` selects, worst first; raises FilterError at its first mistake.

    Dead-letter queues take part only when the filter asks for them: their messages count at their source. So do the
    console's own queues, unless they are in trouble.
    """
    terms = parse(text, KEYS, wordless="queue")
    standings = [standing for standing in fleet.standings if _is_to_be_seen(standing, terms)]
    if any(term.key == "is" and "dlq" in term.values and not term.negated for term in terms):
        standings += [Standing(numbers, judge(numbers)) for numbers in fleet.dead_letter_queues]
    return [standing for standing in standings if all(_matches(term, standing) for term in terms)]


def _is_to_be_seen(standing: Standing, terms: Sequence[Term]) -> bool:
    if standing.numbers.tenant != SYSTEM_TENANT or standing.verdict.health != Health.HEALTHY:
        return True
    return any(term.key == "tenant" or (term.key == "is" and "system" in term.values) for term in terms)


def _matches(term: Term, standing: Standing) -> bool:
    return any(_TESTS[term.key](standing, value) for value in term.values) is not term.negated


def _is(standing: Standing, word: str) -> bool:
    numbers = standing.numbers
    return {
        "closed": numbers.closed,
        "dlq": numbers.is_dead_letter_queue,
        "empty": not (numbers.ready or numbers.leased or numbers.scheduled or numbers.waiting or numbers.dead),
        "system": numbers.tenant == SYSTEM_TENANT,
        "idle": not (numbers.in_per_second or numbers.out_per_second),
    }[word]


_TESTS: dict[str, Callable[[Standing, str], bool]] = {
    "queue": lambda one, value: value.lower() in one.numbers.name.lower(),
    "tenant": lambda one, value: value.lower() == one.numbers.tenant.lower(),
    "health": lambda one, value: value == one.verdict.health,
    "is": _is,
}
