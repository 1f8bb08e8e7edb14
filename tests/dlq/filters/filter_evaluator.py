"""Semantics of filters in plain Python, for comparison with PostgreSQL.

It shares nothing with the compiler; durations, times and JSON scalars are parsed again here.
"""

import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from dlq.filters import EACH, Comparison, Filter, Literal, Path, Pattern, Present, Range, Term, Value

Row = Mapping[str, Any]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_COLUMNS = {
    "class": "error_class",
    "fp": "fingerprint",
    "group": "group_id",
    "trace": "trace_id",
    "dedup": "deduplication_id",
    "attempts": "receive_count",
    "redrives": "redrive_count",
    "dead": "died_at",
    "sent": "sent_at",
    "failed": "last_failed_at",
    "id": "message_id",
    "attr": "attributes",
}
_WORDS = {"name": ("error_class", "queue", "source_queue", "message_id")}
_WORDS["text"] = (*_WORDS["name"], "error", "payload")
_MISSING = object()


def matches(asked: Filter, row: Row, now: datetime) -> bool:
    """Return whether a dead letter with these names of queues and tenant matches."""
    return all(_any_value(term, row, now) is not term.negated for term in asked.terms)


def _any_value(term: Term, row: Row, now: datetime) -> bool:
    return any(_value(term, value, row, now) for value in term.values)


def _value(term: Term, value: Value, row: Row, now: datetime) -> bool:
    column = row.get(_COLUMNS.get(term.key, term.key))
    match term.key:
        case "queue":
            return value.text in (row["queue"], row["source_queue"])
        case "state":
            return value.text == "dead"
        case "payload" | "attr":
            return any(_in_document(found, value) for found in _at(column, term.path))
        case "text" | "name":
            return any(_in_word(name, row, value) for name in _WORDS[term.key])
        case "attempts" | "redrives" | "priority" | "id":
            return _number(column, value)
        case "age":
            return _age(now - row["died_at"], value)
        case "dead" | "sent" | "failed":
            return _time(column, value)
        case _:
            return column is not None and _of_text(term.key, column, value)


def _of_text(key: str, column: str, value: Value) -> bool:
    if key == "error":
        return _in_text(column, value)
    return _is_text(column, value) or (key == "class" and _is_last_part(column, value))


def _in_word(name: str, row: Row, value: Value) -> bool:
    found = row[name]
    if name == "payload":
        return any(_in_text(_as_text(leaf), value) for leaf in _leaves(found))
    if name == "message_id":
        return isinstance(value, Literal) and value.text.isdigit() and found == int(value.text)
    return found is not None and _in_text(found, value)


def _leaves(document: Any) -> list[Any]:
    if isinstance(document, dict | list):
        members = document.values() if isinstance(document, dict) else document
        return [leaf for member in members for leaf in _leaves(member)]
    return [] if document is None else [document]


def _is_last_part(column: str, value: Value) -> bool:
    return isinstance(value, Literal) and bool(value.text) and column.rpartition(".")[2] == value.text


def _in_text(column: str, value: Value) -> bool:
    match value:
        case Present():
            return True
        case Pattern():
            return _matches(value, column)
        case Literal(text):
            return _lowered(text) in _lowered(column)


def _is_text(column: str, value: Value) -> bool:
    return _matches(value, column) if isinstance(value, Pattern) else value == Present() or column == value.text


def _matches(pattern: Pattern, text: str) -> bool:
    return bool(re.search(pattern.text, text, re.DOTALL | (re.IGNORECASE | re.ASCII if pattern.ignores_case else 0)))


def _lowered(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _number(column: int, value: Value) -> bool:
    match value:
        case Literal(text):
            return column == int(text)
        case Comparison(sign, text):
            return _COMPARE[sign](column, int(text))
        case Range(low, high):
            return int(low) <= column <= int(high)


def _age(age: timedelta, value: Value) -> bool:
    match value:
        case Comparison(sign, text):
            return _COMPARE[sign](age, _duration(text))
        case Range(low, high):
            return _duration(low) <= age <= _duration(high)


def _duration(text: str) -> timedelta:
    units = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    return sum((timedelta(**{units[unit]: int(n)}) for n, unit in re.findall(r"(\d+)(\w)", text)), timedelta())


def _time(column: datetime, value: Value) -> bool:
    match value:
        case Literal(text):
            return _start(text) <= column < _end(text)
        case Comparison(">", text):
            return column >= _end(text)
        case Comparison(">=", text):
            return column >= _start(text)
        case Comparison("<", text):
            return column < _start(text)
        case Comparison("<=", text):
            return column < _end(text)
        case Range(low, high):
            return _start(low) <= column < _end(high)


def _start(text: str) -> datetime:
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def _end(text: str) -> datetime:
    plain = text.removesuffix("Z").removesuffix("+00:00")
    precision = {10: timedelta(days=1), 16: timedelta(minutes=1), 19: timedelta(seconds=1)}
    return _start(text) + precision.get(len(plain), timedelta(microseconds=1))


def _at(document: Any, path: Path) -> list[Any]:
    """All values at the path: several only behind a list."""
    found = [document]
    for step in path:
        if step is EACH:
            found = [element for one in found if isinstance(one, list) for element in one]
        else:
            found = [one[step] for one in found if isinstance(one, dict) and step in one]
    return found


def _in_document(found: Any, value: Value) -> bool:
    match value:
        case Pattern():
            return not isinstance(found, dict | list | None) and _matches(value, _as_text(found))
        case Present():
            return True
        case Literal(text, string_only):
            return found == text if isinstance(found, str) else not string_only and _same_scalar(found, text)
        case Comparison(sign, text):
            return _is_number(found) and _COMPARE[sign](_decimal(found), Decimal(text))
        case Range(low, high):
            return _is_number(found) and Decimal(low) <= _decimal(found) <= Decimal(high)


def _as_text(found: Any) -> str:
    return str(found).lower() if isinstance(found, bool) else str(found)


def _same_scalar(found: Any, text: str) -> bool:
    if _is_number(found):
        return bool(re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?(e\d+)?", text)) and _decimal(found) == Decimal(text)
    return {"true": True, "false": False, "null": None}.get(text, _MISSING) is found


def _is_number(found: Any) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool)


def _decimal(found: int | float) -> Decimal:
    return Decimal(str(found))
