"""Outages of the database, for people and programs: a title, advice, and the seconds until a new attempt.

The outage is found from the error that ended a request, without a query. The text of the error goes only to the log,
because it may contain an address or the name of a role.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import psycopg
from django.db import InterfaceError, OperationalError

from queues.database.embedded import EmbeddedPostgresError
from signalbox.connections.unavailable import BY_SLUG, CONNECTION_LOST, cause_of
from signalbox.logs import in_brief

SOON, LATER = 2, 10  # seconds: for outages that end by themselves, and for outages that an operator must end


@dataclass(frozen=True)
class Outage:
    """One kind of outage: `title` is a sentence without a full stop, `advice` says what an operator can do."""

    slug: str
    title: str
    advice: str
    nothing_done: bool = True
    retry_seconds: int = LATER
    is_ours: bool = False
    """Whether the cause may be an error of this code, so that the log keeps the stack."""


def _of_cause(slug: str, advice: str, retry_seconds: int = LATER) -> Outage:
    words = BY_SLUG[slug].words
    return Outage(slug, words[0].upper() + words[1:], advice, BY_SLUG[slug].nothing_done, retry_seconds)


_ALL = (
    _of_cause(
        "no-connection",
        "See whether PostgreSQL runs, and whether this host reaches it at the address in DATABASE_URL.",
        SOON,
    ),
    _of_cause(
        "too-many-connections",
        "Look in pg_stat_activity for the sessions that hold connections. The limit is max_connections.",
        SOON,
    ),
    _of_cause(
        "starting",
        "The server accepts connections when it has started. Its log shows the progress; after a crash, this may take"
        " minutes.",
        SOON,
    ),
    Outage(
        "login-refused",
        "The database refuses the console's login",
        "Check the role, password and database in DATABASE_URL, and whether pg_hba.conf allows this login.",
    ),
    _of_cause(
        "connection-lost", "A restart, a failover or a network error. The next request opens a new connection.", SOON
    ),
    _of_cause(
        "read-only",
        "The server is a standby, or default_transaction_read_only is on. Pages show current data; nothing can be sent,"
        " received or changed.",
    ),
    _of_cause(
        "disk-full",
        "Free space on the disk of its data, tablespaces or pg_wal; df on its host shows which is full. Never delete"
        " files of PostgreSQL by hand.",
    ),
    _of_cause("out-of-resources", "The log of PostgreSQL says which resource was exhausted."),
    Outage(
        "statement-timeout",
        "The database took too long",
        "The statement was cancelled. Ask for less, or look in pg_stat_activity for statements that keep it busy.",
    ),
    Outage(
        "lock-timeout",
        "The database was busy with the same rows",
        "Another transaction held a lock for too long. Look for it in pg_stat_activity, and try again.",
        retry_seconds=SOON,
    ),
    Outage("conflict", "Two changes met in the database", "Try again.", retry_seconds=SOON),
    Outage(
        "migrations-missing",
        "The database is not set up for this version",
        "A table, a column or a function is missing: run manage.py migrate with the code that this console runs.",
        is_ours=True,
    ),
    Outage(
        "not-started",
        "The embedded database does not start",
        "Its log is postgres/server.log in SIGNALBOX_HOME. A full disk is the commonest reason.",
    ),
)
OUTAGES = {outage.slug: outage for outage in _ALL}
"""All outages by slug."""

_BY_SQLSTATE = {
    "57014": "statement-timeout",
    "55P03": "lock-timeout",
    "40": "conflict",
    "3F000": "migrations-missing",
    "42P01": "migrations-missing",
    "42883": "migrations-missing",
    "42703": "migrations-missing",
}


def of(error: BaseException | None) -> Outage | None:
    """Return the outage that caused this error; None if the error has another cause."""
    cause = cause_of(error)
    if cause is not None:
        return OUTAGES[cause.slug]
    if isinstance(error, EmbeddedPostgresError):
        return OUTAGES["not-started"]
    state = getattr(error, "sqlstate", None) or getattr(getattr(error, "__cause__", None), "sqlstate", None) or ""
    slug = _BY_SQLSTATE.get(state) or _BY_SQLSTATE.get(state[:2])
    if slug is None and isinstance(error, (psycopg.OperationalError, OperationalError, InterfaceError)):
        slug = CONNECTION_LOST.slug
    return OUTAGES[slug] if slug else None


class InBrief(logging.Filter):
    """Log filter that shortens the error of an outage to one line without a stack, because there will be many."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        outage = of(error)
        if error is not None and outage is not None and not outage.is_ours:
            record.exc_info, record.exc_text = None, None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.msg, record.args = "%s (%s)", (record.getMessage(), in_brief(error.__cause__ or error))
        return True
