r"""Reader of the values of a term, by the kind of its key.

value    = operator operand | operand ".." operand | "*" | pattern | operand
pattern  = "/" regular expression with \/ "/" [ "i" ]
operator = ">" | ">=" | "<" | "<="
operand  = bare text | '"' text with \" \\ \n \r \t '"'
"""

from __future__ import annotations

import re
from typing import cast

from dlq.filters.keys import Key, Kind
from dlq.filters.readings import JSON_NUMBER, READERS, MisreadError, is_json_scalar, is_reversed
from dlq.filters.scanner import Scanner, shown
from dlq.filters.suggest import closest
from dlq.filters.syntax import FALSE_QUOTES, Comparison, Literal, Operator, Pattern, Present, Range, Value

MAX_VALUES = 100  # in one term
MAX_PATTERN_CHARACTERS = 200

_OPERATOR = re.compile(r"[<>]=?")
_BARE = re.compile(r'[^\s",]+')
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_BARE_TO_RANGE = re.compile(r'(?:(?!\.\.)[^\s",])+')
_PATTERN = re.compile(r"/((?:[^/\\]|\\.)*+)/(i?)", re.DOTALL)
_NUMBER_TO_RANGE = re.compile(JSON_NUMBER + r"(?=\.\.)")


def read_values(scanner: Scanner, key: Key, worded: bool = False) -> tuple[Value, ...]:
    """Read values up to the end of the term. `worded`: they are words without a key."""
    values: list[Value] = []
    while True:
        start = scanner.position
        if scanner.take(","):
            raise scanner.error(
                start, f"{named(key, worded)} has no value before this comma.", f"one, as in {key.example}"
            )
        value = _value(scanner, key, worded)
        _expect_end(scanner, named(key, worded))
        if len(values) == MAX_VALUES:
            raise scanner.error(
                start, f"{named(key, worded)} has more than {MAX_VALUES} values.", f"at most {MAX_VALUES}"
            )
        values.append(value)
        comma = scanner.position
        if not scanner.take(","):
            return tuple(values)
        if scanner.at_term_end:
            raise scanner.error(
                comma, f"{named(key, worded)} has no value after this comma.", f"one, as in {key.example}"
            )


def named(key: Key, worded: bool = False) -> str:
    """Return the subject of a sentence about a value: its key, or words for text that was typed without a key."""
    return "Text without a key" if worded else f"{key.name}:"


def _expect_end(scanner: Scanner, subject: str) -> None:
    if scanner.at_term_end or scanner.text[scanner.position] == ",":
        return
    start = scanner.position
    if scanner.take('"'):
        raise scanner.error(
            start, f"{subject} has a quote within its value.", 'quotes around the whole value, as in "a b"'
        )
    scanner.match(_BARE)
    raise scanner.error(start, f"{subject} has text right after the closing quote.", "a space or a comma there")


def _value(scanner: Scanner, key: Key, worded: bool) -> Value:
    start = scanner.position
    if key.kind.matches and scanner.is_next("/"):
        return _pattern(scanner, start, named(key, worded))
    if key.kind.ordered and (operator := scanner.match(_OPERATOR)):
        return Comparison(cast("Operator", operator), _operand(scanner, key, start, _BARE))
    if key.kind is Kind.JSON:
        in_range = scanner.sees(_NUMBER_TO_RANGE)
        return _range(scanner, key, _NUMBER_TO_RANGE) if in_range else _literal(scanner, key, worded)
    return _range(scanner, key, _BARE_TO_RANGE) if key.kind.ordered else _literal(scanner, key, worded)


def _pattern(scanner: Scanner, start: int, subject: str) -> Pattern:
    """Read a regular expression. `dlq.search.checked_filter` checks that PostgreSQL can read it."""
    quotes = "quotes around text that starts with a slash"
    read = _PATTERN.fullmatch(scanner.match(_PATTERN))
    if read is None:
        raise scanner.error(
            start, f"{subject} has a pattern that is not closed.", f"a closing /, or {quotes}", len(scanner.text)
        )
    if not (scanner.at_term_end or scanner.text[scanner.position] == ","):
        scanner.match(_BARE)
        raise scanner.error(
            start, f"{subject} has text right after its pattern.", f"a space or a comma there; or {quotes}"
        )
    if not 0 < len(read[1]) <= MAX_PATTERN_CHARACTERS:
        message = f"{subject} has a pattern of {len(read[1])} characters."
        raise scanner.error(start, message, f"a pattern of 1 to {MAX_PATTERN_CHARACTERS} characters")
    text = _ESCAPED.sub(lambda found: "/" if found.group() == r"\/" else found.group(), read[1])
    return Pattern(text, bool(read[2]), position=start, source=read.group())


def _range(scanner: Scanner, key: Key, bare: re.Pattern[str]) -> Range | Literal:
    """Read a range, or one operand when no dots follow."""
    start = scanner.position
    low = _operand(scanner, key, start, bare)
    if not scanner.take(".."):
        if key.kind is Kind.AGE:
            raise scanner.error(
                start, "age: needs a bound or a range.", "a bound such as >1h, or a range such as 1h..2h"
            )
        return Literal(low)
    high = _operand(scanner, key, start, _BARE)
    if is_reversed(key.kind, low, high):
        raise scanner.error(start, f"{key.name}: has a range that ends before it starts.", f"{high}..{low}")
    return Range(low, high)


def _operand(scanner: Scanner, key: Key, value_start: int, bare: re.Pattern[str]) -> str:
    """Read and check one operand of an ordered kind. A missing operand is marked from the start of its value."""
    start = scanner.position
    quoted = scanner.is_next('"')
    text = scanner.quoted() if quoted else scanner.match(bare)
    if quoted and key.kind is Kind.JSON:
        raise scanner.error(start, f"{key.name}: compares numbers only.", "a number without quotes, as in >5")
    try:
        _check_largest(READERS[key.kind](text), key)
    except MisreadError as misread:
        if text or quoted:
            raise scanner.error(start, f"{key.name}: does not take {shown(text)}.", str(misread)) from None
        scanner.match(_BARE)
        raise scanner.error(
            value_start, f"{key.name}: has a comparison or a range without its bound.", str(misread)
        ) from None
    return text


def _check_largest(read: object, key: Key) -> None:
    """Refuse a number larger than in any row: a filter with it would find nothing."""
    if key.largest is not None and isinstance(read, int) and read > key.largest:
        raise MisreadError(f"a whole number from 0 to {key.largest}")


def _literal(scanner: Scanner, key: Key, worded: bool) -> Literal | Present:
    start = scanner.position
    if scanner.is_next('"'):
        text = scanner.quoted()
        if not text and key.kind in {Kind.SUBSTRING, Kind.WORDS}:
            raise scanner.error(start, f"{named(key, worded)} has empty quotes.", "some text between the quotes")
        literal = Literal(text, string_only=key.kind is Kind.JSON and is_json_scalar(text))
        return _choice(scanner, key, start, text) if key.choices else literal
    text = scanner.match(_BARE)
    if text == "*" and key.optional and not worded:
        return Present()
    _refuse_unquoted(scanner, key, start, text, worded)
    return _choice(scanner, key, start, text) if key.choices else Literal(text)


def _refuse_unquoted(scanner: Scanner, key: Key, start: int, text: str, worded: bool) -> None:
    """Refuse unquoted text that was probably meant as syntax, such as a comparison or a pattern."""
    if text == "*":
        message = f"{named(key, worded)} does not take * alone."
        raise scanner.error(start, message, f'a value, as in {key.example}; or "*" in quotes')
    if text[0] in "<>":
        expected = f"{_as_in(key)}; or quotes around text that starts with < or >"
        raise scanner.error(start, f"{named(key, worded)} does not take < and >.", expected)
    if text[0] == "/":
        expected = f"{_as_in(key)}; or quotes around text that starts with a slash"
        raise scanner.error(start, f"{key.name}: does not take a pattern.", expected)
    if text[0] in FALSE_QUOTES:
        message = f"{named(key, worded)} has the character {text[0]} in place of a quote."
        raise scanner.error(start, message, 'double quotes, as in error:"timed out"')
    if worded and ":" in text:
        raise scanner.error(start, "Text without a key has a colon.", 'quotes around text with a colon, as in "10:30"')


def _as_in(key: Key) -> str:
    return f"a value, as in {key.example.removeprefix('-')}"


def _choice(scanner: Scanner, key: Key, start: int, text: str) -> Literal:
    if text.lower() in key.choices:
        return Literal(text.lower())
    meant = closest(text, key.choices)
    question = f". Did you mean {meant}?" if meant else "."
    message = f"{key.name}: does not take {shown(text)}{question}"
    raise scanner.error(start, message, f"one of {', '.join(key.choices)}")
