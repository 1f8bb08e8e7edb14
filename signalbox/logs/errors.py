"""The facts about an error that a log may contain: its class, its stack, and a message that quotes no payload.

The text of a foreign exception may quote a payload, and so may the details of an error of the database.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator

import psycopg

from signalbox.connections.unavailable import DatabaseUnavailable
from signalbox.errors import InvalidArgument, ServerUnavailable, SignalboxError

#: Classes of SQLSTATE whose messages quote values: data that does not fit, constraints that are violated.
_QUOTING = ("22", "23")


def in_brief(error: BaseException) -> str:
    """Describe an error in one line that may be logged."""
    message = _safe_message(error)
    return f"{name_of(error)}: {message}" if message else name_of(error)


def name_of(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and then its causes, each once."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)


def stack_of(error: BaseException) -> list[str]:
    """The stack of the error, the outermost call first, without source lines and values."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]


def _safe_message(error: BaseException) -> str:
    if isinstance(error, InvalidArgument) and (error.field or "").startswith("payload"):
        return f"{error.field} was refused"  # the error's text quotes keys of the payload
    if isinstance(error, SignalboxError | ServerUnavailable | DatabaseUnavailable):
        return str(error)
    if isinstance(error, psycopg.Error):
        return _database_message(error)
    if isinstance(error, OSError):
        return error.strerror or ""
    return ""


def _database_message(error: psycopg.Error) -> str:
    if error.sqlstate is None:
        # The server has not answered: libpq describes the connection.
        return next(iter(str(error).splitlines()), "") if isinstance(error, psycopg.OperationalError) else ""
    if error.sqlstate.startswith(_QUOTING):
        return f"SQLSTATE {error.sqlstate}"
    return error.diag.message_primary or f"SQLSTATE {error.sqlstate}"
