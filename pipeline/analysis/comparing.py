"""Compare messages that died of a cause with those that succeeded in the same queue. Pure.

A feature is reported when its share among the failures is at least 1.5 times its share among the successes, and when
the probability of such a difference by chance is below `ALPHA` for the whole run (Bonferroni correction, over queues
with causes and over features). The probability is an upper bound and not an estimate: Chvátal's bound on the tail of
Fisher's exact test, exp(-n KL).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pipeline.analysis.features import ALL, HAS, UNREAD, Feature

MISSING = "missing"
ALPHA = 0.01
"""Probability that a run reports a finding when failures and successes do not differ."""
LEAST_SUPPORT = 5
LEAST_SHARE = 0.1
LEAST_LIFT = 1.5
MAX_FOUND = 20
"""Largest number of findings of a queue and cause; the strongest are kept."""

WHOLE, NOT_READ = ("[]", ALL, ""), ("[]", UNREAD, "")


@dataclass(frozen=True)
class Standing:
    """A feature that failures have more often. `surprise` is -ln of the bound on the probability of that by chance."""

    feature: Feature
    failures_with: int
    successes_with: int
    surprise: float


@dataclass
class Compared:
    """Counts of the messages of one cause and of its queue's successes, and the features in which they differ."""

    cause: str
    failures: int
    failures_unread: int
    successes: int
    successes_unread: int
    standing: list[Standing] = field(default_factory=list)


Counted = Mapping[Feature, int]
"""The number of messages that have each feature; all messages that were read have the feature `WHOLE`."""


def compare(causes: Mapping[str, Counted], successes: Counted, tests: int) -> Iterator[Compared]:
    """Compare each cause of a queue with its successes.

    `tests` is the number of features that are compared. The choice of features must not depend on the failures;
    otherwise the correction would count too few tests.
    """
    all_s = successes.get(WHOLE, 0)
    for cause, said in causes.items():
        all_f = said.get(WHOLE, 0)
        found = Compared(cause, all_f, said.get(NOT_READ, 0), all_s, successes.get(NOT_READ, 0))
        if all_f >= LEAST_SUPPORT and all_s >= LEAST_SUPPORT:
            standing = _standing(_pairs(said, successes), all_f, all_s)
            sure = (one for one in standing if is_certain(one.surprise, tests, 1))
            found.standing = sorted(sure, key=lambda one: (-one.surprise, one.feature))[:MAX_FOUND]
        yield found


def is_certain(found: float, tests: int, groups: int) -> bool:
    """Tell whether a surprise is high enough for the number of features and of queues with causes compared."""
    return found > math.log(max(1, tests) * max(1, groups) / ALPHA)


def surprise(f_with: int, f_all: int, s_with: int, s_all: int) -> float:
    """Compute -ln of a bound on the probability by chance of at least `f_with` failures with the feature.

    The probability is the same whether failures or messages with the feature are drawn: the better bound is used.
    """
    saying, everyone = f_with + s_with, f_all + s_all
    if f_with * everyone <= saying * f_all:
        return 0.0
    return max(
        f_all * _divergence(f_with / f_all, saying / everyone), saying * _divergence(f_with / saying, f_all / everyone)
    )


def _pairs(said: Counted, successes: Counted) -> Iterator[tuple[Feature, int, int]]:
    """Yield each feature with its failures and successes; for keys also the messages that lack the key."""
    for feature, count in said.items():
        if feature not in (WHOLE, NOT_READ):
            yield feature, count, successes.get(feature, 0)
    for (path, kind, value), count in successes.items():
        if kind == HAS:
            lacking = said.get(WHOLE, 0) - said.get((path, kind, value), 0)
            yield (path, MISSING, ""), lacking, successes[WHOLE] - count


def _standing(pairs: Iterable[tuple[Feature, int, int]], all_f: int, all_s: int) -> Iterator[Standing]:
    for feature, with_f, with_s in pairs:
        enough = with_f >= LEAST_SUPPORT and with_f >= LEAST_SHARE * all_f
        if enough and with_f * all_s >= LEAST_LIFT * with_s * all_f:
            yield Standing(feature, with_f, with_s, surprise(with_f, all_f, with_s, all_s))


def _divergence(share: float, expected: float) -> float:
    """Kullback-Leibler divergence of two coins; the first shows heads more often."""
    rest = (1 - share) * math.log((1 - share) / (1 - expected)) if share < 1 else 0.0
    return share * math.log(share / expected) + rest
