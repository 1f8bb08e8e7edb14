"""What may be said in `broker_transport_options`: checked when a connection is made; complaints name the option."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from signalbox import arguments, pooling
from signalbox.connections import lasting_dsn
from signalbox.errors import InvalidArgument

#: Mailboxes are looked into so often where nobody can listen, in seconds: `inspect` waits for one second.
MAIL_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Options:
    """The transport options. Those of queues apply to queues that a declaration makes, never to existing ones."""

    dsn: str = ""
    """Instead of the broker URL's: whatever libpq understands."""
    visibility_timeout: float = 60.0
    """Of queues made: seconds of a lease, which a worker that lives extends every third of it."""
    max_receives: int = 5
    """Of queues made: deliveries after which a task that fails again is a dead letter."""
    queue_settings: Mapping[str, Any] = field(default_factory=dict)
    """Of queues made: any other settings by name."""
    tenant: str | None = None
    """Of queues made: whose they are."""
    polling_interval: float = 1.0
    """Seconds between looks into an empty queue; news is announced besides."""
    pgbouncer: bool = field(default_factory=pooling.is_pooled)
    """Behind PgBouncer in transaction mode: no LISTEN and no prepared statements. DATABASE_POOLER says so as well."""
    ack_delay: float = 0.005
    """Seconds for which an acknowledgement may wait for others to go with it while more than one task is held."""
    max_batch: int = 100
    """Tasks received in one call at most."""
    consumer: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}")
    """The worker's name in the console."""
    readable: bool = True
    """Keep JSON bodies as JSON, not as text in which there is JSON. Text keeps the order of keys too."""

    def __post_init__(self) -> None:
        for name in ("visibility_timeout", "polling_interval", "ack_delay"):
            arguments.seconds(name, getattr(self, name))
        for name in ("max_receives", "max_batch"):
            arguments.count(name, getattr(self, name))
        if not isinstance(self.queue_settings, Mapping):
            raise InvalidArgument("queue_settings must be a mapping", field="queue_settings")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Those given; what other transports know (say `visibility_timeout`) keeps its meaning, the rest is refused."""
        names = {one.name for one in fields(cls)}
        if unknown := set(given) - names - IGNORED:
            raise InvalidArgument(
                f"{sorted(unknown)[0]} is no transport option: there are {', '.join(sorted(names))}",
                "transport_options",
            )
        return cls(**{name: value for name, value in given.items() if name in names})

    @property
    def made_with(self) -> dict[str, Any]:
        """The settings of queues that are made."""
        return {
            "visibility_timeout_seconds": float(self.visibility_timeout),
            "max_receives": self.max_receives,
            "backoff_base_seconds": 1.0,
            **self.queue_settings,
        }

    @property
    def listens(self) -> bool:
        """Can anybody be woken?"""
        return pooling.has_sessions() if pooling.is_pooled() else not self.pgbouncer

    @property
    def connect_options(self) -> dict[str, Any]:
        """Further arguments of `psycopg.connect`."""
        return {"prepare_threshold": None} if self.pgbouncer else {}


#: Options of Celery's and kombu's own that come along with every connection.
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
    """Where the connection `client` of kombu's leads, in libpq's words."""
    dsn = options.dsn or _from_url(client)
    try:
        named: dict[str, Any] = dict(conninfo_to_dict(dsn))
    except ProgrammingError:
        raise InvalidArgument("the broker URL is none that libpq can read", field="broker_url") from None
    patience = max(2, math.ceil(client.connect_timeout or 10))
    return lasting_dsn(make_conninfo(**{"connect_timeout": patience, **named}), "signalbox celery")


def shown(url: str, mask: str = "**") -> str:
    """A broker URL without its password and parameters, one of which may be a password too.

    Read as libpq does, for which credentials end at the @ before the first slash: to kombu two ports are no URL.
    """
    scheme, separator, rest = url.partition("://")
    who, at, _ = rest.partition("/")[0].rpartition("@")
    user, colon, _ = who.partition(":")
    where = rest[len(who + at) :].partition("?")[0]
    return f"{scheme}{separator}{user}{colon}{mask if colon else ''}{at}{where}"


def _from_url(client: Any) -> str:
    place = client.hostname or ""
    if "://" in place:
        return "postgresql" + place[place.index("://") :]
    given = {
        "host": place,
        "port": client.port,
        "user": client.userid,
        "password": client.password,
        "dbname": (client.virtual_host or "").strip("/"),
    }
    return make_conninfo(**{name: value for name, value in given.items() if value})
