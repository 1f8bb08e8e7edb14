"""Two messages side by side, line by line: what differs is marked. Text only, and bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from console import payloads

MOST_LINES = 400
MOST_LINE_CHARACTERS = 400


@dataclass(frozen=True)
class Line:
    """One line of both sides; None where a side has none."""

    left: str | None
    right: str | None
    differs: bool


@dataclass(frozen=True)
class Part:
    """One part of two messages. `cut`: there is more than is compared here."""

    title: str
    lines: Sequence[Line]
    cut: bool

    @property
    def same(self) -> bool:
        return not any(line.differs for line in self.lines)


def compare_documents(title: str, left: object, right: object) -> Part:
    """Two JSON documents, their keys in one order."""
    return compare_texts(title, _written(left), _written(right))


def compare_texts(title: str, left: str | None, right: str | None) -> Part:
    """Two texts, line by line."""
    lines_left, lines_right = _lines(left), _lines(right)
    cut = max(len(lines_left), len(lines_right)) > MOST_LINES
    return Part(title, _aligned(lines_left[:MOST_LINES], lines_right[:MOST_LINES]), cut)


def _written(document: object) -> str | None:
    if document is None:
        return None
    try:
        return payloads.pretty(_sorted(document))
    except RecursionError:
        return payloads.pretty(document)


def _sorted(document: object) -> object:
    if isinstance(document, dict):
        return {key: _sorted(document[key]) for key in sorted(document)}
    return [_sorted(one) for one in document] if isinstance(document, list) else document


def _lines(text: str | None) -> list[str]:
    """As many as are compared, and one more that says so."""
    if text is None:
        return []
    lines = text.split("\n", MOST_LINES + 1)[: MOST_LINES + 1]
    return [
        line if len(line) <= MOST_LINE_CHARACTERS else line[: MOST_LINE_CHARACTERS - 1] + "…"
        for line in (one.rstrip("\r") for one in lines)
    ]


def _aligned(left: list[str], right: list[str]) -> list[Line]:
    found: list[Line] = []
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        differs = kind != "equal"
        found += [Line(one, other, differs) for one, other in zip_longest(left[a:b], right[c:d])]
    return found
