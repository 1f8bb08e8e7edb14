"""Wording of numbers, rates and moments, the same on every page."""

from __future__ import annotations

from datetime import datetime

from metrics.wording import DAY, HOUR, MINUTE, NO_BREAK, NOTHING, byte_size, listing, number, plural, rate, span

__all__ = ["NOTHING", "ago", "byte_size", "clock", "listing", "number", "plural", "rate", "span"]


def coarse_span(seconds: float) -> str:
    """A length of time in its largest unit: 12 s, 3 m, 2 h, 5 d."""
    for length, unit in ((DAY, "d"), (HOUR, "h"), (MINUTE, "m")):
        if seconds >= length:
            return f"{int(seconds // length)}{NO_BREAK}{unit}"
    return f"{int(seconds)}{NO_BREAK}s"


def ago(when: datetime, now: datetime) -> str:
    """Say where `when` lies from `now`: 3 m ago, in 41 m, now."""
    seconds = (now - when).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"{coarse_span(seconds)} ago" if seconds > 0 else f"in {coarse_span(-seconds)}"


def clock(when: datetime) -> str:
    """A moment in UTC, to the second."""
    return f"{when:%Y-%m-%d %H:%M:%S} UTC"
