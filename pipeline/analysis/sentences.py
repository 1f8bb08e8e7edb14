"""Findings of an analysis as sentences for people, each number with its total. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.analysis.comparing import LEAST_SUPPORT, MISSING
from pipeline.analysis.features import HAS, RANGE, TYPE, VALUE

PART = {"payload": "", "attributes": "attributes."}
KIND_ORDER = (VALUE, MISSING, TYPE, RANGE, HAS)
"""Kinds of findings with the same numbers, ordered by how specific they are."""
MAX_SAID = 5
MAX_SAID_ALSO = 3

Path = Sequence[str | None]


@dataclass(frozen=True)
class Fact:
    """One finding with its counts."""

    path: Path
    kind: str
    value: str
    failures_with: int
    failures: int
    successes_with: int
    successes: int


@dataclass(frozen=True)
class Said:
    """Sentences about findings with equal counts; `also` names further ones. Code is in backticks."""

    shares: str
    counts: str
    also: Sequence[str]
    facts: Sequence[Fact]


def say(facts: Sequence[Fact]) -> list[Said]:
    """Write sentences about the strongest findings; findings with equal counts share one."""
    together: dict[tuple[int, int], list[Fact]] = {}
    for fact in facts:
        together.setdefault((fact.failures_with, fact.successes_with), []).append(fact)
    strongest = list(together.values())[:MAX_SAID]
    return [_said(sorted(alike, key=lambda fact: (len(fact.path), KIND_ORDER.index(fact.kind)))) for alike in strongest]


def what(fact: Fact) -> str:
    """Describe the feature of a finding, as in `country` = `"XX"`."""
    name = _code(path_text(fact.path))
    if fact.kind == VALUE:
        return f"{name} = {_code(_plain(fact.value))}"
    if fact.kind == TYPE:
        return f"{_article(fact.value)} {'in' if len(fact.path) > 1 else 'as'} {name}"
    return {MISSING: f"no {name}", HAS: f"a {name}", RANGE: f"{name} of {fact.value}"}[fact.kind]


def path_text(path: Path) -> str:
    """Write a path as in filters: `items[].sku`, and `attributes.` before paths into attributes."""
    part, *steps = path
    if not steps:
        return str(part)
    text = PART[str(part)]
    for place, step in enumerate(steps):
        text += "[]" if step is None else f"{'.' if place else ''}{_key(step)}"
    return text


def nothing(failures: int, successes: int, unread: int, tests: int) -> str:
    """Explain why there is no finding."""
    if failures < LEAST_SUPPORT:
        too_large = f" {unread:,} more were too large to be read." if unread else ""
        return f"There are too few failures to compare: {_messages(failures)}; needed: {LEAST_SUPPORT}.{too_large}"
    if successes < LEAST_SUPPORT:
        succeeded = f"only {_messages(successes)}" if successes else "nothing"
        return f"There is nothing to compare with: {succeeded} succeeded in this queue."
    return (
        f"There are no findings: {failures:,} failures and {successes:,} successes were compared by {tests:,} features,"
        " and differ no more than by chance."
    )


def _said(alike: Sequence[Fact]) -> Said:
    one = alike[0]
    share, other = one.failures_with / one.failures, one.successes_with / max(1, one.successes)
    if one.successes_with:
        beside = f"of what succeeded in the same queue {_percent(other)} do: {_times(share / other)} as likely."
    else:
        beside = "of what succeeded in the same queue none does."
    return Said(
        f"{_percent(share)} of these failures have {what(one)}; {beside}",
        f"{one.failures_with:,} of {one.failures:,} failures, {one.successes_with:,} of {one.successes:,} successes.",
        [what(other) for other in alike[1 : 1 + MAX_SAID_ALSO]],
        alike,
    )


def _percent(share: float) -> str:
    """Write a share in whole percent; 0 % and 100 % only when exact."""
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{share:.0%}".replace("%", " %")


def _times(lift: float) -> str:
    return f"{lift:.1f} times" if lift < 9.95 else f"{lift:,.0f} times"


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count:,} messages"


def _article(kind: str) -> str:
    if kind in ("null", "true or false"):
        return kind
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _plain(value: str) -> str:
    """Write JSON, without the quotes of a text that is clear without them."""
    return value[1:-1] if re.fullmatch(r'"[A-Za-z][\w .@/+-]*"', value) and value not in _WORDS else value


_WORDS = {'"true"', '"false"', '"null"'}


def _key(step: str) -> str:
    return step if re.fullmatch(r"[\w$@-]+", step) else '"' + step.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _code(text: str) -> str:
    """Put a text between backticks, and replace backticks within it."""
    return f"`{text.replace('`', chr(0x2019))}`"
