"""The options in `broker_transport_options`, checked when a connection is made; an error names the option."""

from __future__ import annotations

import math
import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from signalbox import arguments
from signalbox.connections import pooling
from signalbox.connections.connections import lasting_dsn
from signalbox.errors import InvalidArgument

#: Seconds between two reads of a mailbox where no connection can listen: `inspect` waits for one second.
MAIL_POLL_SECONDS = 0.2


def is_worker() -> bool:
    """Return whether this process is a worker of Celery's."""
    return "celery.worker.control" in sys.modules


@dataclass(frozen=True)
class Options:
    """The transport options. Options of queues apply to new queues, never to existing ones."""

    dsn: str = ""
    """A DSN for libpq in place of the broker URL."""
    visibility_timeout: float = 60.0
    """Seconds of a lease in new queues; a worker extends its leases after a third of that time."""
    max_receives: int = 5
    """Deliveries in new queues after which a task that fails again is a dead letter."""
    queue_settings: Mapping[str, Any] = field(default_factory=dict)
    """Other settings of new queues, by name."""
    tenant: str | None = None
    """The tenant of new queues."""
    polling_interval: float = 1.0
    """Seconds between receives from an empty queue without a wake-up."""
    pgbouncer: bool = field(default_factory=pooling.is_pooled)
    """Whether PgBouncer in transaction mode is used: no LISTEN, no prepared statements. Default: DATABASE_POOLER."""
    ack_delay: float = 0.005
    """Seconds for which an acknowledgement may wait to be sent with others while more than one task is held."""
    max_batch: int = 100
    """The most tasks that one call receives."""
    consumer: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}")
    """The worker's name in the console."""
    requeue_counts: bool = field(default_factory=is_worker)
    """Whether a message that a consumer requeues counts as a failed delivery. False: it is delivered again at once.

    The default is True in a Celery worker, which requeues the task of a child process that died: such a task must not
    run for ever. The default is False in other programs, as with other brokers.
    """
    readable: bool = True
    """Whether JSON bodies are stored as JSON, and not as text. Only text keeps the order of keys."""

    def __post_init__(self) -> None:
        for name in ("visibility_timeout", "polling_interval", "ack_delay"):
            arguments.seconds(name, getattr(self, name))
        for name in ("max_receives", "max_batch"):
            arguments.count(name, getattr(self, name))
        if not isinstance(self.queue_settings, Mapping):
            raise InvalidArgument("queue_settings must be a mapping", field="queue_settings")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Read the given options. Options that Celery and kombu add are ignored; unknown ones are refused."""
        names = {option.name for option in fields(cls)}
        if unknown := set(given) - names - IGNORED:
            raise InvalidArgument(
                f"{sorted(unknown)[0]} is not a transport option; allowed: {', '.join(sorted(names))}",
                "transport_options",
            )
        return cls(**{name: value for name, value in given.items() if name in names})

    @property
    def new_queue_settings(self) -> dict[str, Any]:
        """The settings of new queues."""
        return {
            "visibility_timeout_seconds": float(self.visibility_timeout),
            "max_receives": self.max_receives,
            "backoff_base_seconds": 1.0,
            **self.queue_settings,
        }

    @property
    def listens(self) -> bool:
        """Return whether a connection can listen for wake-ups."""
        return pooling.has_sessions() if pooling.is_pooled() else not self.pgbouncer

    @property
    def connect_options(self) -> dict[str, Any]:
        """Further arguments of `psycopg.connect`."""
        return {"prepare_threshold": None} if self.pgbouncer else {}


#: The options that Celery and kombu add to every connection, which are ignored.
IGNORED = {
    "client_properties",
    "confirm_publish",
    "connect_retries_timeout",
    "errback",
    "callback",
    "interval_start",
    "interval_step",
    "interval_max",
    "max_retries",
    "timeout",
}


def dsn_of(client: Any, options: Options) -> str:
    """Make the DSN of PostgreSQL for a connection of kombu."""
    dsn = options.dsn or _from_url(client)
    try:
        named: dict[str, Any] = dict(conninfo_to_dict(dsn))
    except ProgrammingError:
        raise InvalidArgument("the broker URL is not a connection string of PostgreSQL", field="broker_url") from None
    patience = max(2, math.ceil(client.connect_timeout or 10))
    return lasting_dsn(make_conninfo(**{"connect_timeout": patience, **named}), "signalbox celery")


def dsn_of_url(url: str) -> str:
    """Make the DSN of PostgreSQL for a result backend: its URL is a libpq URL with the scheme `signalbox`."""
    scheme, separator, rest = url.partition("://")
    dsn = f"postgresql://{rest}"
    try:
        conninfo_to_dict(dsn)
    except ProgrammingError:
        raise InvalidArgument("the URL is not a connection string of PostgreSQL", field="result_backend") from None
    if scheme != "signalbox" or not separator:
        raise InvalidArgument(f"the URL must begin with signalbox://, not {scheme[:40]}://", field="result_backend")
    return lasting_dsn(dsn, "signalbox celery results")


def shown(url: str, mask: str = "**") -> str:
    """Remove the password from a broker URL, and the parameters, which may hold another.

    The URL is read as libpq reads it: credentials end at the @ before the first slash. Kombu refuses two ports.
    """
    scheme, separator, rest = url.partition("://")
    credentials, at, _ = rest.partition("/")[0].rpartition("@")
    user, colon, _ = credentials.partition(":")
    where = rest[len(credentials + at) :].partition("?")[0]
    return f"{scheme}{separator}{user}{colon}{mask if colon else ''}{at}{where}"


def _from_url(client: Any) -> str:
    host = client.hostname or ""
    if "://" in host:
        return "postgresql" + host[host.index("://") :]
    parameters = {
        "host": host,
        "port": client.port,
        "user": client.userid,
        "password": client.password,
        "dbname": (client.virtual_host or "").strip("/"),
    }
    return make_conninfo(**{name: value for name, value in parameters.items() if value})
