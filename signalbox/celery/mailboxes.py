"""Mailboxes: queues that end with their owner. Commands to workers, replies and events go through them.

A mailbox is not a queue: its messages are not leased, counted or shown, and no alert covers it.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from signalbox.celery import calls
from signalbox.celery.envelopes import is_envelope, priority_of
from signalbox.celery.leases import Chore
from signalbox.celery.options import MAIL_POLL_SECONDS
from signalbox.celery.wakeup import Watch

logger = logging.getLogger(__name__)

#: Seconds for which a mailbox is kept after the last report of its owner: the minimum, and the default.
MIN_KEEP_SECONDS = 15.0
KEEP_SECONDS = 60.0
MAIL_SECONDS = 300.0


@dataclass
class Mailbox:
    """A mailbox that this process has declared; it is kept while it is watched."""

    name: str
    keep_seconds: float = KEEP_SECONDS
    mail_seconds: float = MAIL_SECONDS
    mailbox_id: int = 0
    bindings: set[tuple[str, str, str]] = field(default_factory=set)
    _fetched: deque[dict[str, Any]] = field(default_factory=deque)
    _watch: Watch | None = None

    @classmethod
    def declared(cls, name: str, options: Mapping[str, Any]) -> Mailbox | None:
        """The mailbox that these options of a declaration ask for; None when they ask for a queue."""
        arguments = options.get("arguments") or {}
        expires = arguments.get("x-expires", 0) / 1000
        if not (options.get("auto_delete") or options.get("exclusive") or (expires and not options.get("durable"))):
            return None
        mail = arguments.get("x-message-ttl", 0) / 1000
        return cls(name, max(expires or KEEP_SECONDS, MIN_KEEP_SECONDS), max(mail or MAIL_SECONDS, 1.0))

    def open(self, client: Any) -> None:
        """Open the mailbox unless it is open, and note its id."""
        self.mailbox_id = client._run(calls.open_mailbox(self.name, self.keep_seconds, self.mail_seconds))

    def bind(self, client: Any, exchange: str, kind: str, routing_key: str) -> None:
        """Bind the mailbox: messages that are published to the exchange reach it."""
        self.bindings.add((exchange, kind, routing_key))
        client._run(calls.bind_queue(exchange, kind, routing_key, self.name))

    def close(self, client: Any, leases: Any) -> None:
        """Delete the mailbox with the messages in it."""
        self.ignore(leases)
        client._run(calls.close_mailbox(self.name))

    def watch(self, transport: Any, leases: Any) -> None:
        """Begin to consume: keep the mailbox alive, and read it at each wake-up."""
        self.ignore(leases)
        self._watch = self._new_watch(transport)
        interval = self.keep_seconds / 3
        leases.schedule(self.name, Chore(interval, partial(self.keep, transport), time.monotonic() + interval))

    def keep(self, transport: Any, client: Any) -> None:
        """Report that the owner of the mailbox lives; open it again when the database has dropped it."""
        if not client._run(calls.keep_mailboxes([self.name])):
            return
        self.open(client)
        for exchange, kind, routing_key in self.bindings:
            client._run(calls.bind_queue(exchange, kind, routing_key, self.name))
        if (former := self._watch) is not None:  # None: no longer consumed
            self._watch = self._new_watch(transport)  # for the new id
            former.close()

    def _new_watch(self, transport: Any) -> Watch:
        interval = transport.options.polling_interval if transport.options.listens else MAIL_POLL_SECONDS
        return Watch(transport.bell, transport.listener, f"mail/{self.mailbox_id}", interval)

    def ignore(self, leases: Any) -> None:
        """Stop watching: the mailbox is no longer consumed."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
            leases.forget(self.name)

    def next_if_due(self, client: Any, now: float) -> dict[str, Any] | None:
        """Take the next message if the mailbox is due to be read; None without one."""
        if self._fetched:
            return self._fetched.popleft()
        if self._watch is None or not self._watch.is_due(now):
            return None
        self._watch.start_check()
        message = self.next(client)
        if message is None:
            self._watch.note_empty()
        return message

    @property
    def due_at(self) -> float:
        """The latest time at which the mailbox is read next."""
        if self._fetched or self._watch is None:
            return 0.0 if self._fetched else float("inf")
        return self._watch.due_at

    def next(self, client: Any) -> dict[str, Any] | None:
        """Take the next message; None when there is none."""
        if not self._fetched:
            self._fetched.extend(sorted(self._take(client), key=priority_of, reverse=True))
        return self._fetched.popleft() if self._fetched else None

    def _take(self, client: Any) -> Iterator[dict[str, Any]]:
        for _, body in client._run(calls.take_mail([self.name])):
            if not is_envelope(body):
                logger.error("Dropped a message for %s that no Celery program sent", self.name)
                continue
            body["properties"]["delivery_tag"] = f"mail-{id(body)}"
            yield body
