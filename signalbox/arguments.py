"""Checks of arguments before a call: each returns the value, or raises an error that names the argument.

The database checks what depends on the queue: its limits and its settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from signalbox.errors import InvalidArgument
from signalbox.payloads.encoding import encode

#: The highest priority of a message: the largest smallint of PostgreSQL.
MAX_PRIORITY = 32_767


def text(field: str, value: object) -> str:
    """Check text: PostgreSQL stores neither the character NUL nor half of a surrogate pair."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{field} must be text, not {type(value).__name__}", field=field)
    if storable_text(value) != value:
        raise InvalidArgument(f"{field} has characters that PostgreSQL cannot store: {value[:80]!r}", field=field)
    return value


def optional_text(field: str, value: object) -> str | None:
    """Check text as `text` does; None is allowed."""
    return None if value is None else text(field, value)


def storable_text(value: str | None) -> str | None:
    """Escape the characters that PostgreSQL cannot store, so that a description of a failure is never refused."""
    if value is None:
        return None
    return value.replace("\x00", "\\0").encode(errors="backslashreplace").decode()


def seconds(field: str, value: object) -> float:
    """Check a finite number of seconds, zero or more."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgument(f"{field} must be a number of seconds, not {type(value).__name__}", field=field)
    if not math.isfinite(value) or value < 0:
        raise InvalidArgument(f"{field} is {value}: it must be a finite number, zero or more", field=field)
    return float(value)


def optional_seconds(field: str, value: object) -> float | None:
    """Check a number of seconds as `seconds` does; None is allowed."""
    return None if value is None else seconds(field, value)


def priority(field: str, value: object) -> int:
    """Check a priority, a whole number from 0 to 32,767."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_PRIORITY:
        raise InvalidArgument(f"{field} is {value!r}: it must be a whole number from 0 to {MAX_PRIORITY}", field=field)
    return value


def count(field: str, value: object) -> int:
    """Check a whole number, one or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidArgument(f"{field} is {value!r}: it must be a whole number, one or more", field=field)
    return value


def optional_count(field: str, value: object) -> int | None:
    """Check a whole number as `count` does; None is allowed."""
    return None if value is None else count(field, value)


def optional_moment(field: str, value: object) -> datetime | None:
    """Check a time, which has a time zone; None is allowed."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidArgument(f"{field} must be a datetime, not {type(value).__name__}", field=field)
    if value.tzinfo is None:
        raise InvalidArgument(f"{field} is {value}: it must have a time zone", field=field)
    return value


def one_of(field: str, value: object, choices: Sequence[str]) -> str:
    """Check that a word is one of the choices."""
    if value not in choices:
        raise InvalidArgument(f"{field} is {str(value)[:80]!r}: it must be one of {', '.join(choices)}", field=field)
    return str(value)


def column(field: str, values: Sequence[Any], length: int, check: Callable[[str, Any], Any]) -> list[Any]:
    """Check a column of a batch, which has one value for each message."""
    if isinstance(values, str) or len(values) != length:
        raise InvalidArgument(f"{field} must have {length} entries, one for each payload", field=field)
    return [check(f"{field}[{index}]", value) for index, value in enumerate(values)]


def checked(**values: object) -> dict[str, Any]:
    """Check arguments of verbs, each by the rule of its name, and return them as the parameters of a statement."""
    return {name: _CHECKS[name](name, value) for name, value in values.items()}


def check_of(name: str) -> Callable[[str, Any], Any]:
    """Find the check for the argument of this name: a function of the field that an error names, and the value."""
    return _CHECKS[name]


def json_object(field: str, value: Mapping[str, object]) -> str:
    """Encode a mapping as the JSON text of an object."""
    return encode(dict(value), field)


def unchecked(_: str, value: object) -> object:
    """Return the value unchanged: the engine or psycopg refuses a wrong one."""
    return value


#: The check of each argument's name. Settings and mail are encoded; the engine alone checks what `unchecked` passes.
_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(
        ("filter", "handler", "queue", "stream", "group", "member", "name", "new_name", "point", "prefix"), text
    ),
    "receipt_handle": text,
    **dict.fromkeys(("consumer", "deduplication_id", "group_id", "key", "tenant", "trace_id"), optional_text),
    **dict.fromkeys(("max_messages", "message_id", "partitions", "queue_window"), count),
    **dict.fromkeys(("lease_seconds", "seconds", "window_seconds"), seconds),
    **dict.fromkeys(("delay_seconds", "visibility_timeout"), optional_seconds),
    "expires_at": optional_moment,
    "max_receives": optional_count,
    "priority": priority,
    "settings": json_object,
    "body": lambda field, value: encode(value, field),
    **dict.fromkeys(("at", "bytes", "dry_run", "epoch", "partition", "place", "position", "sha256"), unchecked),
    **dict.fromkeys(("exchange", "kind", "routing_key", "mailbox", "mailboxes", "names"), unchecked),
    **dict.fromkeys(("keys", "part", "value"), unchecked),
    **dict.fromkeys(("keep_seconds", "mail_seconds"), unchecked),
}
