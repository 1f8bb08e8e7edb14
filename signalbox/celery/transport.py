"""The transport: one database connection for each connection of kombu's, and the wait for messages."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import psycopg
from amqp.exceptions import RecoverableConnectionError
from kombu.transport import virtual

from signalbox.celery.channel import Channel
from signalbox.celery.leases import Leases, shared_leases
from signalbox.celery.options import Options, dsn_of, is_worker, shown
from signalbox.celery.wakeup import Bell, LoopDriver
from signalbox.client import Client
from signalbox.connections.listening import Listener, shared_listener
from signalbox.errors import SignalboxError

#: The errors of a lost database, or of a server that no longer takes writes.
LOST = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)


class Transport(virtual.Transport):  # type: ignore[misc]
    """Kombu's transport over the verbs of the engine."""

    Channel = Channel
    can_parse_url = True
    driver_type = "signalbox"
    driver_name = "psycopg"
    polling_interval = None

    connection_errors = (*virtual.Transport.connection_errors, *LOST)
    channel_errors = (*virtual.Transport.channel_errors, psycopg.Error, SignalboxError)
    # Kombu raises the first error for a channel whose connection was given up; it must lead to a reconnect.
    recoverable_connection_errors = (RecoverableConnectionError, *LOST)
    recoverable_channel_errors = ()

    implements = virtual.Transport.implements.extend(
        asynchronous=True, exchange_type=frozenset(["direct", "topic", "fanout"])
    )

    def __init__(self, client: Any, **options: Any) -> None:
        super().__init__(client, **options)
        self.polling_interval = None  # the base class would sleep for its own interval
        self.options = Options.of(client.transport_options)
        self.dsn = dsn_of(client, self.options)
        self.bell = Bell()
        self._owner = os.getpid()
        self._driver: LoopDriver | None = None
        if is_worker():
            import signalbox.celery.scheduled  # it answers `inspect scheduled` from the database
        if "celery.beat" in sys.modules:
            from signalbox.celery.processes import beat

            beat.report_schedules()
        if "flower.utils.broker" in sys.modules:
            import signalbox.celery.processes.flower_broker  # noqa: F401 - it registers the reader of queues
        #: The engine's verbs over this connection; a forked child gets a connection of its own.
        self.verbs = Client(self.dsn, **self.options.connect_options)

    @property
    def leases(self) -> Leases:
        """The leases of this process, which outlive the connection."""
        return shared_leases(self.dsn, self.options.connect_options)

    @property
    def listener(self) -> Listener | None:
        """The listener of this process; None where no connection can listen."""
        return shared_listener(self.dsn) if self.options.listens else None

    @property
    def is_driven(self) -> bool:
        """Return whether the event loop of a worker delivers the messages."""
        return self._driver is not None

    def establish_connection(self) -> Any:
        """Connect, so that an unreachable database is reported at once."""
        with self.verbs._connections.borrow():
            pass
        return super().establish_connection()

    def verify_connection(self, connection: Any) -> bool:
        """Return whether the database can still be reached."""
        try:
            with self.verbs._connections.borrow():
                return True
        except psycopg.Error:
            return False

    def close_connection(self, connection: Any) -> None:
        """Close channels and the database connection, or in a forked child nothing of its parent's."""
        self._stop_driving()
        super().close_connection(connection)
        if os.getpid() == self._owner:
            self.verbs.close()

    def register_with_event_loop(self, connection: Any, loop: Any) -> None:
        """Deliver in a worker's event loop from now on."""
        self._stop_driving()
        self._driver = LoopDriver(self, loop)
        self.bell.also = self._driver.ring

    def _stop_driving(self) -> None:
        if self._driver is not None and os.getpid() == self._owner:
            self.bell.also = None
            self._driver.close()
        self._driver = None

    def drain_events(self, connection: Any, timeout: float | None = None, **_: Any) -> None:
        """Deliver waiting messages, or messages that arrive within `timeout` seconds; None waits for ever."""
        ends_at = float("inf") if timeout is None else time.monotonic() + timeout
        while True:
            self.bell.clear()  # before the delivery: a later ring ends the wait
            if self.deliver():
                return
            now = time.monotonic()
            if now >= ends_at:
                raise TimeoutError  # socket.timeout by its other name
            self.bell.wait(max(min(ends_at, self.next_look(now)) - now, 0.0))

    def deliver(self) -> bool:
        """Deliver from every channel that is due; True when there was a message."""
        delivered = [channel.deliver() for channel in list(self.channels)]
        return any(delivered)

    def next_look(self, now: float) -> float:
        """The latest time of the next delivery, by the monotonic clock."""
        return min((channel.next_look(now) for channel in list(self.channels)), default=float("inf"))

    def driver_version(self) -> str:
        """The version of psycopg."""
        return psycopg.__version__

    def as_uri(self, uri: str, include_password: bool = False, mask: str = "**") -> str:
        """The broker URL for people: without the password, unless asked for."""
        return uri if include_password else shown(uri, mask)
