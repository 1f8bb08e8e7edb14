"""Causes of an unavailable database, recognised from errors, in one place for clients, server and console.

A refusal says what is wrong with a request. An outage says what is wrong with the database: the
same request may succeed later.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import psycopg

from signalbox.connections.primary_selection import StalePrimary


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of an unavailable database."""

    slug: str
    words: str
    nothing_done: bool
    """Whether the call was certainly not carried out."""


NO_CONNECTION = Cause("no-connection", "the database cannot be reached", True)
TOO_MANY_CONNECTIONS = Cause("too-many-connections", "the database has no free connection", True)
STARTING = Cause("starting", "the database is starting, stopping or recovering", True)
LOGIN_REFUSED = Cause("login-refused", "the database refuses the login", True)
CONNECTION_LOST = Cause("connection-lost", "the connection to the database was lost", False)
READ_ONLY = Cause("read-only", "the database is read-only", True)
DISK_FULL = Cause("disk-full", "the disk of the database is full", True)
OUT_OF_RESOURCES = Cause("out-of-resources", "the database has run out of memory, or its disk fails", True)

_BY_SQLSTATE = {
    "25006": READ_ONLY,
    "28": LOGIN_REFUSED,
    "3D000": LOGIN_REFUSED,  # there is no database of this name
    "53": OUT_OF_RESOURCES,
    "53100": DISK_FULL,
    "53300": TOO_MANY_CONNECTIONS,
    "57P01": CONNECTION_LOST,
    "57P02": CONNECTION_LOST,
    "57P03": STARTING,
    "57P04": CONNECTION_LOST,
    "57P05": CONNECTION_LOST,
    "08": CONNECTION_LOST,
    "58": OUT_OF_RESOURCES,
    "25P03": CONNECTION_LOST,  # idle in a transaction for too long
    "25P04": CONNECTION_LOST,  # a transaction that took too long
}
BY_SLUG = {cause.slug: cause for cause in (NO_CONNECTION, *_BY_SQLSTATE.values())}
#: The texts of refused connections, for which libpq gives no SQLSTATE.
_BY_WORDS = (
    (re.compile(r"session is read-only|server is in hot standby"), READ_ONLY),  # where only a primary is wanted
    (
        re.compile(r"too many (clients|connections)|connection slots are reserved|no more connections allowed"),
        TOO_MANY_CONNECTIONS,
    ),
    (re.compile(r"database system is |not (yet )?accepting connections"), STARTING),
    (
        re.compile(r"authentication|pg_hba\.conf|(role|database) .* does not exist|password"),
        LOGIN_REFUSED,
    ),
)
_NO_SPACE = re.compile(r"No space left on device|File too large|Disk quota exceeded")


class Unavailable(Exception):  # noqa: N818 - as in signalbox.errors
    """The database cannot be reached or written at the moment; the same call may succeed later.

    `cause` is one of no-connection, too-many-connections, starting, login-refused, connection-lost, read-only,
    disk-full, out-of-resources; empty where a server names none. `nothing_done` is True when the call was
    certainly not carried out. `retry_after` is in seconds, None where it is unknown.
    """

    cause: str = ""
    nothing_done: bool = False
    retry_after: float | None = None


class DatabaseUnavailable(Unavailable, psycopg.OperationalError):
    """The database cannot carry out the call at the moment."""

    def __init__(self, message: str = "", cause: Cause = CONNECTION_LOST) -> None:
        super().__init__(message or cause.words)
        self.cause = cause.slug
        self.nothing_done = cause.nothing_done


def unavailable_of(error: psycopg.Error) -> DatabaseUnavailable | None:
    """Make the error that names the cause of an outage; None for an error with another cause."""
    if isinstance(error, DatabaseUnavailable):
        return error
    cause = cause_of(error)
    if cause is None:
        return None
    reason = next(iter(str(error).splitlines()), "")
    outcome = "nothing was done" if cause.nothing_done else "the call may or may not have been carried out"
    unavailable = DatabaseUnavailable(f"{cause.words}, and {outcome}: {reason}", cause)
    unavailable._info, unavailable._encoding, unavailable.sqlstate = error._info, error._encoding, error.sqlstate
    return unavailable


def cause_of(error: BaseException | None) -> Cause | None:
    """Find the cause of an outage in the first error of psycopg in a chain of errors; None without one."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, DatabaseUnavailable):
            return BY_SLUG[error.cause]
        if isinstance(error, psycopg.Error):
            return _cause_of(error)
        error = error.__cause__
    return None


def _cause_of(error: psycopg.Error) -> Cause | None:
    if error.sqlstate:
        if _NO_SPACE.search(error.diag.message_primary or ""):
            return DISK_FULL
        return _BY_SQLSTATE.get(error.sqlstate) or _BY_SQLSTATE.get(error.sqlstate[:2])
    if isinstance(error, psycopg.InterfaceError):
        return CONNECTION_LOST if "closed" in str(error) else None
    if not isinstance(error, psycopg.OperationalError):
        return None
    words = str(error)
    if not _arose_while_connecting(error, words):
        return CONNECTION_LOST
    return next((cause for pattern, cause in _BY_WORDS if pattern.search(words)), NO_CONNECTION)


def _arose_while_connecting(error: psycopg.OperationalError, words: str) -> bool:
    """Return whether the error arose before the connection was made."""
    if error.pgconn is not None or isinstance(error, (psycopg.errors.ConnectionTimeout, StalePrimary)):
        return True
    resolving = ("failed to resolve", "[Errno ")  # as psycopg 3.3 and 3.2 say
    begins = ("connection ", *resolving, "Multiple connection attempts failed")
    return type(error).__module__.startswith("psycopg_pool") or words.startswith(begins)
