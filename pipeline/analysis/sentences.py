"""The findings of an analysis as sentences for people: plain words, and every number beside its whole. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.analysis.comparing import LEAST_SUPPORT, MISSING
from pipeline.analysis.features import HAS, RANGE, TYPE, VALUE

PART = {"payload": "", "attributes": "attributes."}
KIND_ORDER = (VALUE, MISSING, TYPE, RANGE, HAS)
"""Of several ways to say the same, the one that says most comes first."""
MAX_SAID = 5
MAX_SAID_ALSO = 3

Path = Sequence[str | None]


@dataclass(frozen=True)
class Fact:
    """One finding with the numbers it stands on."""

    path: Path
    kind: str
    value: str
    failures_with: int
    failures: int
    successes_with: int
    successes: int


@dataclass(frozen=True)
class Said:
    """A sentence of shares, one of counts, and what else has just these numbers; backticks stand around code."""

    shares: str
    counts: str
    also: Sequence[str]
    facts: Sequence[Fact]


def say(facts: Sequence[Fact]) -> list[Said]:
    """The strongest first, as they came; those with the same numbers are one, since they tell of the same messages."""
    together: dict[tuple[int, int], list[Fact]] = {}
    for fact in facts:
        together.setdefault((fact.failures_with, fact.successes_with), []).append(fact)
    strongest = list(together.values())[:MAX_SAID]
    return [_said(sorted(alike, key=lambda fact: (len(fact.path), KIND_ORDER.index(fact.kind)))) for alike in strongest]


def what(fact: Fact) -> str:
    """Name what the messages have: `country` = `"XX"`."""
    name = _code(path_text(fact.path))
    if fact.kind == VALUE:
        return f"{name} = {_code(_plain(fact.value))}"
    if fact.kind == TYPE:
        return f"{_article(fact.value)} {'in' if len(fact.path) > 1 else 'as'} {name}"
    return {MISSING: f"no {name}", HAS: f"a {name}", RANGE: f"{name} of {fact.value}"}[fact.kind]


def path_text(path: Path) -> str:
    """A path as the filter language has it: `items[].sku`; of attributes with their name in front."""
    part, *steps = path
    if not steps:
        return str(part)
    text = PART[str(part)]
    for place, step in enumerate(steps):
        text += "[]" if step is None else f"{'.' if place else ''}{_key(step)}"
    return text


def nothing(failures: int, successes: int, unread: int, tests: int) -> str:
    """Say why there is no finding."""
    if failures < LEAST_SUPPORT:
        too_large = f" {unread:,} more were too large to be looked at." if unread else ""
        return f"{_messages(failures)} of it are too few to compare: it takes {LEAST_SUPPORT}.{too_large}"
    if successes < LEAST_SUPPORT:
        succeeded = f"only {_messages(successes)}" if successes else "nothing"
        return f"There is nothing to compare with: {succeeded} succeeded in this queue."
    return (
        f"Nothing stands out: {failures:,} failures and {successes:,} successes were compared in {tests:,} things"
        " that they say, and they differ no more than chance would have it."
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
    """Whole percents; never all or none where it is not quite."""
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
    """JSON without the quotes of a text that needs none."""
    return value[1:-1] if re.fullmatch(r'"[A-Za-z][\w .@/+-]*"', value) and value not in _WORDS else value


_WORDS = {'"true"', '"false"', '"null"'}


def _key(step: str) -> str:
    return step if re.fullmatch(r"[\w$@-]+", step) else '"' + step.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _code(text: str) -> str:
    """Write between backticks, of which the text must have none itself."""
    return f"`{text.replace('`', chr(0x2019))}`"
