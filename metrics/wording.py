"""Words for numbers, rates and durations, the same on pages, in commands and in mails."""

from __future__ import annotations

NO_BREAK = "\u00a0"  # a span such as "4 m 05 s" must not be torn between two lines
NOTHING = "—"

MINUTE, HOUR, DAY = 60, 3_600, 86_400


def number(value: float | None) -> str:
    """Write a number with separators: 12408 as 12,408, None as a dash."""
    return NOTHING if value is None else f"{value:,.0f}"


def rate(per_second: float | None) -> str:
    """Write events per second: one decimal below a hundred, none above."""
    if per_second is None:
        return NOTHING
    return f"{per_second:.1f}" if abs(per_second) < 99.95 else f"{per_second:,.0f}"


def span(seconds: float | None) -> str:
    """Write a length of time in at most two units: 0.8 s, 42 s, 6 m 05 s, 2 h 10 m, 3 d 04 h."""
    if seconds is None:
        return NOTHING
    seconds = max(seconds, 0.0)
    if seconds < 9.95:
        return f"{seconds:.1f}".removesuffix(".0") + f"{NO_BREAK}s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole}{NO_BREAK}s"
    if whole < HOUR:
        return _two(whole, MINUTE, "m", 1, "s")
    if whole < DAY:
        return _two(whole, HOUR, "h", MINUTE, "m")
    return _two(whole, DAY, "d", HOUR, "h")


def _two(whole: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    first, rest = divmod(whole, large)
    second = rest // small
    head = f"{first}{NO_BREAK}{large_unit}"
    return f"{head}{NO_BREAK}{second:02}{NO_BREAK}{small_unit}" if second else head


def byte_size(count: int) -> str:
    """Write a number of bytes: 1536 as 1.5 KB."""
    if count < 1024:
        return f"{count}{NO_BREAK}B"
    if count < 1024 * 1024:
        return f"{count / 1024:.1f}{NO_BREAK}KB"
    return f"{count / 1024 / 1024:.1f}{NO_BREAK}MB"


def plural(count: int, noun: str) -> str:
    """Write a number with its noun: 1 message, 2 messages."""
    return f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"


def listing(items: list[str]) -> str:
    """Join words as in a sentence: a, b and c."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
