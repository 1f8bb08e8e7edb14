"""Readers of operands: whole numbers, durations, dates and times, JSON scalars, all ASCII and bounded.

Bounds keep every accepted operand inside what PostgreSQL and `datetime` can hold, so that a filter that
parses never fails in the database.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from dlq.filters.keys import Kind

LARGEST_WHOLE = 2**63 - 1  # a PostgreSQL bigint
MAX_DURATION = timedelta(days=36_525)  # a century
FIRST_YEAR, LAST_YEAR = 1970, 2999

JSON_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?"  # three digits keep within numeric
JSON_WORDS = frozenset({"true", "false", "null"})

_WHOLE = re.compile(r"[0-9]{1,19}")
_JSON_NUMBER = re.compile(JSON_NUMBER)
_JSON_RANGE = re.compile(JSON_NUMBER + r"\.\.")
_DURATION = re.compile(r"(?:[0-9]{1,9}[smhdw])+")
_DURATION_PART = re.compile(r"([0-9]+)([smhdw])")
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_MOMENT = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[T ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,6}))?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?",
    re.IGNORECASE,
)


class MisreadError(ValueError):
    """The operand cannot be read; the message says what is expected."""


@dataclass(frozen=True)
class Moment:
    """Time that a date or time names, as precise as it was written: from `start` to just before `end`."""

    start: datetime
    end: datetime


def whole_number(text: str) -> int:
    """Read a whole number from 0 up."""
    if not _WHOLE.fullmatch(text):
        raise MisreadError("a whole number such as 3")
    number = int(text)
    if number > LARGEST_WHOLE:
        raise MisreadError(f"a number up to {LARGEST_WHOLE}")
    return number


def duration(text: str) -> timedelta:
    """Read a duration in seconds, minutes, hours, days and weeks."""
    if not _DURATION.fullmatch(text):
        raise MisreadError("a duration such as 90s, 15m, 2h, 1h30m, 3d or 2w")
    seconds = sum(int(count) * _UNIT_SECONDS[unit] for count, unit in _DURATION_PART.findall(text))
    if seconds > MAX_DURATION.total_seconds():
        raise MisreadError("a duration up to a century")
    return timedelta(seconds=seconds)


def moment(text: str) -> Moment:
    """Read an ISO date or time; UTC unless it carries an offset."""
    parts = _MOMENT.fullmatch(text)
    if parts is None:
        aside = "; for a duration ask age:, as in age:>2h" if _DURATION.fullmatch(text) else ""
        raise MisreadError(f"a date or time such as 2026-01-31 or 2026-01-31T10:30{aside}")
    try:
        start = _start(parts)
    except ValueError:
        raise MisreadError("a date and time that exist") from None
    if not FIRST_YEAR <= start.year <= LAST_YEAR:
        raise MisreadError(f"a year from {FIRST_YEAR} to {LAST_YEAR}")
    return Moment(start, start + _precision(parts))


def json_number(text: str) -> Decimal:
    """Read a number as JSON writes it."""
    if not _JSON_NUMBER.fullmatch(text):
        raise MisreadError("a number such as 5, -2 or 0.25")
    return Decimal(text)


def is_json_scalar(text: str) -> bool:
    """Tell whether JSON reads the text as something else than a string."""
    return text in JSON_WORDS or _JSON_NUMBER.fullmatch(text) is not None


def starts_json_range(text: str) -> bool:
    """Tell whether the text starts as a range of numbers does."""
    return _JSON_RANGE.match(text) is not None


def is_reversed(kind: Kind, low: str, high: str) -> bool:
    """Tell whether a range of these ends holds nothing."""
    read = READERS[kind]
    if kind is Kind.TIME:
        return bool(read(low).start >= read(high).end)
    return bool(read(low) > read(high))


READERS: Mapping[Kind, Callable[[str], Any]] = {
    Kind.WHOLE: whole_number,
    Kind.AGE: duration,
    Kind.TIME: moment,
    Kind.JSON: json_number,
}


def _start(parts: re.Match[str]) -> datetime:
    zone = parts["zone"]
    if parts["hour"] == "24" or (zone and zone not in "Zz" and int(zone[-2:]) > 59):  # which Python may take
        raise ValueError(parts.group())
    start = datetime.fromisoformat(parts.group().upper())
    return start if zone else start.replace(tzinfo=UTC)


def _precision(parts: re.Match[str]) -> timedelta:
    if parts["fraction"]:
        return timedelta(microseconds=10 ** (6 - len(parts["fraction"])))
    if parts["second"]:
        return timedelta(seconds=1)
    return timedelta(minutes=1) if parts["hour"] else timedelta(days=1)
