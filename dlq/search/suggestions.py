"""Suggestions from the data for a filter being typed: names, causes, and paths and values from payloads.

Names come from their own small tables, everything else from a sample of the newest messages. A query that takes too
long gives no suggestions.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import LiteralString

from dlq.filters import FilterError, Literal, Target, Term, complete, parse
from dlq.filters.readings import is_json_scalar
from dlq.filters.scanner import Scanner
from dlq.filters.syntax import render_value
from dlq.masking.masks import Rules
from dlq.search.samples import COLUMNS, Place, leaves_of, newest, read_in_time
from queues.database import names
from queues.database.query import Query
from queues.dead_letters import rows as dead_letter_rows

MAX_OFFERED = 12  # offered at once
SAMPLE_ROWS = 500  # for causes
MAX_PATHS = 300
SHORTEST_WORD = 2  # characters
MAX_CLASSES = 200
NOTHING_MASKED = Rules()
_SYNTAX = re.compile(r'["/*:,]')
SAMPLED: Mapping[str, LiteralString] = {
    "class": "error_class",
    "error": "error",
    "group": "group_id",
    "consumer": "consumer",
}
"""Columns of dead letters whose values are offered, by key."""


@dataclass(frozen=True)
class Suggestion:
    """Text that replaces the characters from `start` to `end`; `goes_on` says that more must be typed after it."""

    insert: str
    help: str
    start: int
    end: int
    goes_on: bool = False


def suggest(
    text: str, cursor: int, place: Place, *, see_payloads: bool, masked: Rules = NOTHING_MASKED
) -> list[Suggestion]:
    """Suggest words for the cursor, the most likely first, without `masked` values. At most a few quick queries."""
    try:
        Scanner(text)
    except FilterError:  # too long, or with characters that PostgreSQL cannot store
        return []
    cursor = min(max(cursor, 0), len(text))
    typed = complete(text, cursor, place.target)
    offered = list(typed.options.items())
    if typed.key:
        offered = offered or _values(typed.key, typed.prefix, place, see_payloads, masked)
    else:
        offered = [one for one in offered if see_payloads or one[0].rstrip(":.") not in {*COLUMNS, "error"}]
        offered += _paths(typed.prefix, place, masked) if see_payloads else []
        offered += [(f"{key}:{value}", words) for key, value, words in _named(typed.prefix, place)]
    return [
        Suggestion(insert, words, typed.position, cursor, goes_on=insert.endswith((":", ".")))
        for insert, words in offered
        if insert != typed.prefix
    ][:MAX_OFFERED]


# ---- values


def _values(written: str, prefix: str, place: Place, see_payloads: bool, masked: Rules) -> list[tuple[str, str]]:
    """Return (value, help) for a key as it was typed, such as `-payload.a` or `queue`; none if it is not a key."""
    try:
        [term] = parse(f"{written}:*" if written.partition(".")[2] else f"{written}:x").terms
    except (FilterError, ValueError):
        return []
    looked_for = prefix.removeprefix('"')
    if term.key in COLUMNS:
        return _values_at(term, looked_for, place, masked) if see_payloads else []
    see_errors = see_payloads and not masked
    if term.key == "fp":
        return _fingerprints(looked_for, place, see_errors)
    if term.key in ("text", "name"):
        return [(value, words) for _, value, words in _named(looked_for, place)]
    query = _query(term.key, looked_for, place) if term.key != "error" or see_errors else None
    rows = read_in_time(query) if query else []
    return [(render_value(term.key, Literal(row[0])), row[1]) for row in rows if row[0]]


def _fingerprints(part: str, place: Place, see_errors: bool) -> list[tuple[str, str]]:
    """Return (fingerprint, class) of the newest dead letters, with an error too if the reader may see errors."""
    if place.target is not Target.DEAD_LETTER:
        return []
    rows = read_in_time(dead_letter_rows.fingerprints_of(newest(place, SAMPLE_ROWS), part, MAX_OFFERED))
    return [
        (render_value("fp", Literal(one)), f"{cause}: {error}" if error and see_errors else cause)
        for one, cause, error, _ in rows
    ]


def _named(part: str, place: Place) -> list[tuple[str, str, str]]:
    """Return (key, value, help) of the queues and classes that a word may mean."""
    if place.target is not Target.DEAD_LETTER or len(part) < SHORTEST_WORD or _SYNTAX.search(part):
        return []
    queues = [("queue", *row) for row in read_in_time(names.queues(part, place.reach, MAX_OFFERED // 3))]
    classes = [("class", one, "class of the error") for one in newest_classes(place) if part.lower() in one.lower()]
    return [
        (key, render_value(key, Literal(value)), words) for key, value, words in [*queues, *classes[: MAX_OFFERED // 3]]
    ]


def newest_classes(place: Place) -> list[str]:
    """Return the error classes of the newest dead letters, the most frequent first."""
    query = _query("class", "", place, MAX_CLASSES)
    return [row[0] for row in read_in_time(query) if row[0]] if query else []


def _query(key: str, prefix: str, place: Place, limit: int = MAX_OFFERED) -> Query | None:
    """Return a query for names, or for the values of a column of the newest dead letters, the most frequent first."""
    if key == "queue":
        return names.queues(prefix, place.reach, MAX_OFFERED)
    if key == "tenant":
        return names.tenants(prefix, place.reach, MAX_OFFERED)
    if key == "consumer" and place.queue_id is not None:
        return names.consumers(prefix, place.queue_id, MAX_OFFERED)
    if key not in SAMPLED or place.target is not Target.DEAD_LETTER:
        return None
    return dead_letter_rows.values_of(newest(place, SAMPLE_ROWS), SAMPLED[key], prefix, limit)


# ---- inside documents


def _paths(prefix: str, place: Place, masked: Rules) -> list[tuple[str, str]]:
    """Return (path, example) for paths that begin like `payload.ord`; none while no key with a path is typed."""
    key = prefix.partition(".")[0].lower()
    if key not in COLUMNS or "." not in prefix:
        return []
    counted: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for path, leaf in leaves_of(key, place, masked):
        written = f"{Term(key, (), path).name}:"
        if written.lower().startswith(prefix.lower()) and (written in counted or len(counted) < MAX_PATHS):
            counted[written] += 1
            examples.setdefault(written, json.dumps(leaf, ensure_ascii=False)[:60])
    return [(written, f"such as {examples[written]}") for written, _ in counted.most_common(MAX_OFFERED)]


def _values_at(term: Term, prefix: str, place: Place, masked: Rules) -> list[tuple[str, str]]:
    counted: Counter[str] = Counter()
    for path, leaf in leaves_of(term.key, place, masked):
        if path == term.path and len(str(leaf)) < 200:
            is_text = isinstance(leaf, str)
            literal = Literal(str(leaf), string_only=is_text and is_json_scalar(leaf))
            counted[render_value(term.key, literal) if is_text else json.dumps(leaf)] += 1
    found = [(written, f"{number} of the newest") for written, number in counted.most_common()]
    return [one for one in found if prefix.lower() in one[0].lower()][:MAX_OFFERED]
