"""Differences of failures from successes are found where they exist, and nowhere else."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pytest

from pipeline.analysis import comparing
from pipeline.analysis.comparing import Compared, surprise
from pipeline.analysis.features import ALL, HAS, UNREAD, Feature, of_message

Make = Callable[[random.Random], dict[str, Any]]
COUNTRY = ('["payload","country"]', "value", '"XX"')


@dataclass
class Queue:
    """Numbers of a queue's messages by statement, among failures of an error and among successes."""

    causes: dict[str, Counter[Feature]] = field(default_factory=dict)
    successes: Counter[Feature] = field(default_factory=Counter)

    def died(self, count: int, make: Make, cause: str = "v2:a", seed: int = 1) -> None:
        self.causes.setdefault(cause, Counter()).update(_said(count, make, seed))

    def succeeded(self, count: int, make: Make, seed: int = 2) -> None:
        self.successes.update(_said(count, make, seed))

    @property
    def tests(self) -> int:
        """Statements made by enough messages, with paths listed twice, since a path may be missing."""
        said = sum(self.causes.values(), self.successes)
        common = [
            kind for (_, kind, _), n in said.items() if n >= comparing.LEAST_SUPPORT and kind not in (ALL, UNREAD)
        ]
        return sum(2 if kind == HAS else 1 for kind in common)

    def compared(self) -> list[Compared]:
        return list(comparing.compare(self.causes, self.successes, self.tests))

    def found(self, cause: str = "v2:a") -> list[Feature]:
        return [one.feature for each in self.compared() if each.cause == cause for one in each.standing]


def _said(count: int, make: Make, seed: int) -> Counter[Feature]:
    chance, said = _begun(make, seed)
    said += [of_message(json.dumps(make(chance)), None) for _ in range(count - len(said))]
    return Counter(one for each in said[:count] for one in each)


@lru_cache(maxsize=4)
def _begun(make: Make, seed: int) -> tuple[random.Random, list[list[Feature]]]:
    """The second of two samples of the same messages reuses the rows of the smaller first."""
    return random.Random(seed), []


def order(chance: random.Random, **given: Any) -> dict[str, Any]:
    """Typical message of the queue: many fields, some with ids, none related to failures."""
    return {
        "country": chance.choices(["DE", "FR", "IT", "XX"], [60, 25, 12, 3])[0],
        "amount": round(chance.lognormvariate(4, 2), 2),
        "customer": {"id": chance.randrange(10**6), "tier": chance.choice(["gold", "silver", "none"])},
        "items": [{"sku": f"s{chance.randrange(40)}"} for _ in range(chance.randrange(1, 4))],
        "express": chance.random() < 0.1,
        **{f"field{n}": chance.randrange(2 + n) for n in range(12)},
        **given,
    }


def test_a_planted_cause_is_found_with_its_numbers() -> None:
    queue = Queue()
    queue.died(1_204, lambda chance: order(chance, country="XX"))
    queue.died(77, lambda chance: order(chance, country="DE"), seed=3)
    queue.succeeded(88, lambda chance: order(chance, country="XX"))
    queue.succeeded(2_862, lambda chance: order(chance, country="FR"), seed=4)

    (compared,) = queue.compared()

    assert [one.feature for one in compared.standing] == [COUNTRY]
    assert (compared.standing[0].failures_with, compared.standing[0].successes_with) == (1_204, 88)
    assert (compared.failures, compared.successes) == (1_281, 2_950)


@pytest.mark.parametrize(
    ("dead", "acked"), [(200, 200), (400, 900), (30, 900), (300, 20), (5, 5), (12, 700), (600, 600), (5, 2_000)]
)
@pytest.mark.parametrize("seed", range(5))
def test_a_clean_set_yields_nothing_whatever_chance_does(dead: int, acked: int, seed: int) -> None:
    queue = Queue()
    queue.died(dead, order, seed=1_000 + seed)
    queue.succeeded(acked, order, seed=2_000 + seed)

    assert queue.tests > 20
    assert queue.found() == []


@pytest.mark.parametrize("seed", range(5))
def test_what_is_merely_frequent_is_no_cause(seed: int) -> None:
    """One region has nearly all of the traffic, and so nearly all of the failures; it grows, and fails as before."""

    def of_region(share: float) -> Make:
        return lambda chance: order(chance, region="eu" if chance.random() < share else "us", batch={"size": 500})

    queue = Queue()
    for hour, (count, share) in enumerate([(40, 0.5), (100, 0.9), (1_000, 0.98)]):
        queue.died(count // 10, of_region(share), seed=100 * seed + hour)
        queue.succeeded(count, of_region(share), seed=100 * seed + 50 + hour)

    assert queue.found() == []


def usual(chance: random.Random) -> dict[str, Any]:
    return order(chance, address={"city": "Köln"}, amount=chance.randrange(10, 99))


def deep(bottom: Any) -> dict[str, Any]:
    return {"a": {"b": {"c": {"d": {"e": {"f": bottom}}}}}}


BROKEN: dict[str, tuple[Make, Feature]] = {
    "a field is missing": (
        lambda chance: order(chance, amount=chance.randrange(10, 99)),
        ('["payload","address"]', "missing", ""),
    ),
    "a number is a text": (
        lambda chance: usual(chance) | {"amount": "12,50"},
        ('["payload","amount"]', "type", "text"),
    ),
    "an element of a list": (
        lambda chance: usual(chance) | {"items": [{"sku": "s1"}, {"sku": "bad"}]},
        ('["payload","items",null,"sku"]', "value", '"bad"'),
    ),
    "deep within": (
        lambda chance: usual(chance) | deep(None),
        ('["payload","a","b","c","d","e","f"]', "type", "null"),
    ),
    "an amount of another size": (
        lambda chance: usual(chance) | {"amount": chance.randrange(10_000, 99_999)},
        ('["payload","amount"]', "range", "10,000 up to 100,000"),
    ),
}


@pytest.mark.parametrize(("make", "feature"), BROKEN.values(), ids=BROKEN)
def test_each_kind_of_difference_is_found(make: Make, feature: Feature) -> None:
    queue = Queue()
    queue.succeeded(300, usual)
    queue.died(40, make)
    queue.died(40, usual, cause="v2:of-nothing-in-it", seed=9)

    assert feature in queue.found()
    assert queue.found("v2:of-nothing-in-it") == []


def test_few_failures_or_no_success_say_nothing() -> None:
    queue = Queue()
    queue.died(400, lambda chance: {"country": "XX"})
    assert queue.found() == []
    queue.succeeded(400, lambda chance: {"country": "DE"})
    queue.died(4, lambda chance: {"country": "YY"}, cause="v2:few")

    assert COUNTRY in queue.found()
    assert queue.found("v2:few") == []


def test_the_more_is_compared_the_rarer_it_must_be() -> None:
    found = surprise(12, 40, 20, 400)

    assert comparing.is_certain(found, tests=50, groups=1)
    assert not comparing.is_certain(found, tests=50, groups=100_000)
    assert not comparing.is_certain(found, tests=5_000_000, groups=1)


def test_the_bound_is_never_below_the_exact_chance() -> None:
    chance, best = random.Random(5), 0.0
    for _ in range(3_000):
        failures, successes = chance.randrange(1, 60), chance.randrange(0, 60)
        f, s = chance.randint(0, failures), chance.randint(0, successes)
        found = surprise(f, failures, s, successes)
        assert math.exp(-found) >= _fisher(f, failures, s, successes) * (1 - 1e-9), (f, failures, s, successes)
        best = max(best, found)
    assert best > 20


def _fisher(f: int, failures: int, s: int, successes: int) -> float:
    """The chance of f or more."""
    saying = f + s
    ways = sum(
        math.comb(saying, k) * math.comb(failures + successes - saying, failures - k)
        for k in range(f, min(failures, saying) + 1)
    )
    return ways / math.comb(failures + successes, failures)
