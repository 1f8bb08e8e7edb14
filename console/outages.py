"""What is wrong with the database, said to people and programs: a title, what to do about it, when to come back.

Read from the error that ended a request, so it asks nobody. Shows nothing that the error says: an address, a name of a
role and whatever else it has is for the log.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import psycopg
from django.db import InterfaceError, OperationalError

from queues.embedded import EmbeddedPostgresError
from signalbox.logs import in_brief
from signalbox.unavailable import CONNECTION_LOST, cause_of

SOON, LATER = 2, 10  # seconds; what heals by itself, and what somebody has to see to

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outage:
    """One kind of trouble: `title` is a sentence without its full stop, `advice` what an operator does about it."""

    slug: str
    title: str
    advice: str
    nothing_done: bool = True
    retry_seconds: int = LATER
    is_ours: bool = False
    """It may be a fault of this code as well: the log keeps where it came from."""


_ALL = (
    Outage(
        "no-connection",
        "The database cannot be reached",
        "See whether PostgreSQL runs, and whether this host reaches it at the address in DATABASE_URL.",
        retry_seconds=SOON,
    ),
    Outage(
        "too-many-connections",
        "The database has no connection to spare",
        "Look in pg_stat_activity for who holds them; max_connections is how many there are.",
        retry_seconds=SOON,
    ),
    Outage(
        "starting",
        "The database is starting, stopping or recovering",
        "It takes connections when it is done: its log says how far it is. After a crash that may take minutes.",
        retry_seconds=SOON,
    ),
    Outage(
        "login-refused",
        "The database refuses the console's login",
        "Role, password and database are those of DATABASE_URL; pg_hba.conf says who may come from where.",
    ),
    Outage(
        "connection-lost",
        "The connection to the database was lost",
        "A restart, a failover or a network that broke: the next request makes a new one.",
        nothing_done=False,
        retry_seconds=SOON,
    ),
    Outage(
        "read-only",
        "The database is read-only",
        "It is a standby, or default_transaction_read_only is on. Pages that only show something go on; nothing can be"
        " sent, received or changed.",
    ),
    Outage(
        "disk-full",
        "The disk of the database is full",
        "Make room where its data, a tablespace or pg_wal is; df on its host says which. Never delete files of"
        " PostgreSQL by hand.",
    ),
    Outage(
        "out-of-resources",
        "The database has run out of memory, or its disk fails",
        "The log of PostgreSQL says what it lacked.",
    ),
    Outage(
        "statement-timeout",
        "The database took too long",
        "The statement was cancelled. Ask for less, or look in pg_stat_activity for what keeps it busy.",
    ),
    Outage(
        "lock-timeout",
        "The database was busy with the same rows",
        "Somebody else held a lock for too long. Look in pg_stat_activity for who, and try again.",
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
"""By slug."""

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
    """The trouble with the database that this error tells of; None when it is about something else."""
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
    """Of a request that found the database away the log keeps a line and no stack: there will be many."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        outage = of(error)
        if error is not None and outage is not None and not outage.is_ours:
            record.exc_info, record.exc_text = None, None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.msg, record.args = "%s (%s)", (record.getMessage(), in_brief(error.__cause__ or error))
        return True
