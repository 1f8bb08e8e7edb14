r"""The grammar: text to terms, or the first mistake.

    filter  = [ term { spaces term } ]
    term    = [ "-" ] [ key { "." segment { "[]" } } ":" ] value { "," value }

A term without a key is a term of `text:`. `values` reads the values.
"""

from __future__ import annotations

import re
from dataclasses import replace

from dlq.filters.keys import KEYS, Key
from dlq.filters.scanner import Scanner, shown
from dlq.filters.suggest import closest_key
from dlq.filters.syntax import EACH, Each, Path, Term
from dlq.filters.values import read_values

MAX_TERMS = 50
MAX_PATTERNS = 10  # in one filter
MAX_PATH_SEGMENTS = 16

_HEAD = re.compile(r'[^\s":,.]++(?:\.(?:"(?:[^"\\]|\\.)*+"(?:\[\])*+|[^\s":,.]*+))*+(?=:)', re.DOTALL)
_NAME = re.compile(r'[^\s":,.]+')
_SEGMENT = re.compile(r'[^\s":,.\[\]]+')
_WORD = re.compile(r"\S+")
_CONJUNCTIONS = {
    "AND": "only a space between terms that must all match",
    "OR": "a comma between values of which one must match",
    "NOT": "a - right before the term",
}


def parse_terms(text: str) -> tuple[Term, ...]:
    """Read the terms of a filter; raises `FilterError` at the first mistake."""
    scanner = Scanner(text)
    terms: list[Term] = []
    scanner.skip_spaces()
    while not scanner.at_end:
        start = scanner.position
        term = _term(scanner)
        if len(terms) == MAX_TERMS:
            raise scanner.error(start, f"The filter has more than {MAX_TERMS} terms.", f"at most {MAX_TERMS}")
        terms.append(replace(term, position=start, source=text[start : scanner.position]))
        _refuse_many_patterns(terms)
        scanner.skip_spaces()
    return tuple(terms)


def _term(scanner: Scanner) -> Term:
    start = scanner.position
    negated = scanner.take("-")
    if scanner.at_term_end:
        raise scanner.error(start, "This minus has no term after it.", "a term right after it, as in -queue:orders")
    head = scanner.position
    if scanner.is_next("/") or not scanner.match(_HEAD):
        _refuse_conjunction(scanner)
        return Term("text", read_values(scanner, KEYS["text"], worded=True), negated=negated)
    key = _key(scanner, head)
    path = _path(scanner, head, key)
    scanner.take(":")
    if scanner.at_term_end:
        raise scanner.error(
            start, f"{scanner.text[head : scanner.position]} has no value.", f"one, as in {key.example}"
        )
    return Term(key.name, read_values(scanner, key), path, negated)


def _refuse_many_patterns(terms: list[Term]) -> None:
    patterns = [pattern for term in terms for pattern in term.patterns]
    if len(patterns) > MAX_PATTERNS:
        raise patterns[-1].error(f"The filter has more than {MAX_PATTERNS} patterns.", f"at most {MAX_PATTERNS}")


def _refuse_conjunction(scanner: Scanner) -> None:
    start = scanner.position
    word = scanner.match(_WORD)
    if word in _CONJUNCTIONS:
        raise scanner.error(start, f"{word} is not an operator.", f'{_CONJUNCTIONS[word]}, or "{word}" in quotes')
    scanner.position = start


def _key(scanner: Scanner, head: int) -> Key:
    """Return the key that was just read, and move the cursor back to the end of its name."""
    end = scanner.position
    scanner.position = head
    name = scanner.match(_NAME)
    key = KEYS.get(name.lower())
    if key is None:
        meant = closest_key(name)
        question = f" Did you mean {meant}:?" if meant else ""
        expected = f"{f'{meant}: or another key' if meant else 'a key'}, or quotes around text with a colon"
        raise scanner.error(head, f"Unknown key {shown(name)}:.{question}", expected, end)
    if key.takes_path and scanner.position == end:
        raise scanner.error(head, f"{key.name}: needs a path after a dot.", f"one, as in {key.example}")
    if not key.takes_path and scanner.position < end:
        raise scanner.error(head, f"{key.name}: does not take a path.", f"{key.name}: alone, as in {key.example}", end)
    return key


def _path(scanner: Scanner, head: int, key: Key) -> Path:
    segments: list[str | Each] = []
    while scanner.take("."):
        start = scanner.position
        if scanner.is_next('"'):
            segments.append(scanner.quoted())
        elif segment := scanner.match(_SEGMENT):
            segments.append(segment)
        else:
            raise scanner.error(
                head, f"{key.name}: has a path with an empty part.", f"a name after each dot, as in {key.example}"
            )
        while scanner.take("[]"):
            segments.append(EACH)
        _refuse_brackets(scanner, start, key)
        if len(segments) > MAX_PATH_SEGMENTS:
            message = f"{key.name}: has a path of more than {MAX_PATH_SEGMENTS} names."
            raise scanner.error(start, message, f"at most {MAX_PATH_SEGMENTS}")
    return tuple(segments)


def _refuse_brackets(scanner: Scanner, start: int, key: Key) -> None:
    if not scanner.at_end and scanner.text[scanner.position] in "[]":
        scanner.match(_NAME)
        expected = "[] for any element of a list, as in payload.items[].sku:x; or quotes around a name with brackets"
        raise scanner.error(start, f"{key.name}: takes only empty brackets in a path.", expected)
