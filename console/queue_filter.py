"""The overview's filter: the grammar of `dlq.filters` over a few keys, asked of queues."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from console.fleet import Fleet, Standing
from console.verdicts import Health, Verdict, judge
from dlq.filters.scanner import Scanner

_KEY = re.compile(r'[^\s":,]+(?=:)')
_VALUE = re.compile(r'[^\s",]+')


@dataclass(frozen=True)
class Key:
    """One key; `choices` are its only values, if it has such. `test` is asked with a value in lower case."""

    help: str
    test: Callable[[Standing, str], bool]
    choices: tuple[str, ...] = ()


def _is(standing: Standing, word: str) -> bool:
    numbers = standing.numbers
    return {
        "closed": numbers.closed,
        "dlq": numbers.is_dead_letter_queue,
        "empty": not (numbers.ready or numbers.leased or numbers.scheduled or numbers.dead),
        "idle": not (numbers.in_per_second or numbers.out_per_second),
    }[word]


KEYS = {
    "queue": Key("Part of the queue's name.", lambda one, value: value in one.numbers.name.lower()),
    "tenant": Key("The tenant that owns the queue.", lambda one, value: value == one.numbers.tenant.lower()),
    "health": Key("How the queue stands.", lambda one, value: value == one.verdict.health, tuple(Health)),
    "is": Key("A trait; dlq shows dead-letter queues.", _is, ("closed", "dlq", "empty", "idle")),
}


@dataclass(frozen=True)
class _Term:
    key: str
    values: tuple[str, ...]
    negated: bool

    def matches(self, standing: Standing) -> bool:
        return any(KEYS[self.key].test(standing, value) for value in self.values) is not self.negated


def select(fleet: Fleet, text: str) -> Sequence[Standing]:
    """The queues that `text` selects, worst first; raises FilterError at its first mistake.

    Dead-letter queues take part only when the filter speaks of them: their messages count at their source.
    """
    terms = _parse(text)
    standings = list(fleet.standings)
    if any(term.key == "is" and "dlq" in term.values and not term.negated for term in terms):
        standings += [Standing(numbers, _calm(judge(numbers))) for numbers in fleet.dead_letter_queues]
    return [standing for standing in standings if all(term.matches(standing) for term in terms)]


def _calm(verdict: Verdict) -> Verdict:
    """A dead-letter queue holds dead letters by design; its source is what breaches."""
    return replace(verdict, health=Health.HEALTHY, sentence="", age_breached=False, dead_breached=False)


def _parse(text: str) -> list[_Term]:
    scanner = Scanner(text)
    terms = []
    scanner.skip_spaces()
    while not scanner.at_end:
        terms.append(_term(scanner))
        scanner.skip_spaces()
    return terms


def _term(scanner: Scanner) -> _Term:
    start = scanner.position
    negated = scanner.take("-")
    name = scanner.match(_KEY)
    if not name:
        return _Term("queue", _values(scanner, start, "queue"), negated)
    if name.lower() not in KEYS:
        raise scanner.error(start, f"There is no key {name[:40]}: here.", f"one of {', '.join(KEYS)}")
    scanner.take(":")
    return _Term(name.lower(), _values(scanner, start, name.lower()), negated)


def _values(scanner: Scanner, start: int, key: str) -> tuple[str, ...]:
    values = [_value(scanner, start, key)]
    while scanner.take(","):
        values.append(_value(scanner, start, key))
    return tuple(values)


def _value(scanner: Scanner, start: int, key: str) -> str:
    at = scanner.position
    value = (scanner.quoted() if scanner.at_quote() else scanner.match(_VALUE)).lower()
    choices = KEYS[key].choices
    if choices and value not in choices:
        raise scanner.error(
            at if value else start, f"{key}: has no such value.", f"one of {', '.join(choices)}"
        )
    if not value:
        raise scanner.error(start, f"{key}: has no value.", f"some text, as in {key}:orders")
    return value
