"""Mailboxes: queues that end with their owner. Commands to workers, replies and events go through them.

They are no queues of the engine: nothing in them is leased, counted or shown, and nobody is paged for a reply.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from signalbox.celery_broker import verbs
from signalbox.celery_broker.envelopes import is_envelope
from signalbox.celery_broker.options import MAIL_POLL_SECONDS
from signalbox.celery_broker.waking import Watch

logger = logging.getLogger(__name__)

#: Kept for so long after the last sign of its owner, in seconds, at least and unless said otherwise.
SHORTEST_KEEP_SECONDS = 15.0
KEEP_SECONDS = 60.0
MAIL_SECONDS = 300.0


@dataclass
class Mailbox:
    """One that this process has declared; it is kept while it is watched."""

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
        return cls(name, max(expires or KEEP_SECONDS, SHORTEST_KEEP_SECONDS), max(mail or MAIL_SECONDS, 1.0))

    def open(self, client: Any) -> None:
        """Make it, or find it."""
        self.mailbox_id = client._run(verbs.open_mailbox(self.name, self.keep_seconds, self.mail_seconds))

    def bind(self, client: Any, exchange: str, kind: str, routing_key: str) -> None:
        """What is published to the exchange reaches it."""
        self.bindings.add((exchange, kind, routing_key))
        client._run(verbs.bind_queue(exchange, kind, routing_key, self.name))

    def close(self, client: Any, leases: Any) -> None:
        """It goes, with what is in it."""
        self.ignore(leases)
        client._run(verbs.close_mailbox(self.name))

    def watch(self, transport: Any, leases: Any) -> None:
        """Somebody consumes it: it is kept, and looked into at news of it."""
        self.ignore(leases)
        self._watch = self._news(transport)
        leases.every(self.name, _Keeping(self, transport))

    def watch_anew(self, transport: Any) -> None:
        """It has another id than before, under which its news comes."""
        former, self._watch = self._watch, self._news(transport)
        if former is not None:
            former.close()
        else:  # nobody consumes it any longer
            self._watch.close()
            self._watch = None

    def _news(self, transport: Any) -> Watch:
        every = transport.options.polling_interval if transport.options.listens else MAIL_POLL_SECONDS
        return Watch(transport.bell, transport.listener, f"mail/{self.mailbox_id}", every)

    def ignore(self, leases: Any) -> None:
        """Nobody does any longer."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
            leases.forget(self.name)

    def next_if_due(self, client: Any, now: float) -> dict[str, Any] | None:
        """The next message, if there is one and it is time to look."""
        if self._fetched:
            return self._fetched.popleft()
        if self._watch is None or not self._watch.is_due(now):
            return None
        self._watch.look()
        found = self.next(client)
        if found is None:
            self._watch.found_nothing_more()
        return found

    @property
    def due_at(self) -> float:
        """When to look into it at the latest."""
        if self._fetched or self._watch is None:
            return 0.0 if self._fetched else float("inf")
        return self._watch.due_at

    def next(self, client: Any) -> dict[str, Any] | None:
        """The next message, or None."""
        if not self._fetched:
            for _, body in client._run(verbs.take_mail([self.name])):
                if not is_envelope(body):
                    logger.error("Dropped a message for %s that no Celery program sent", self.name)
                    continue
                body["properties"]["delivery_tag"] = f"mail-{id(body)}"
                self._fetched.append(body)
        return self._fetched.popleft() if self._fetched else None


class _Keeping:
    """Says that the mailbox's owner lives; makes it anew when it was thought dead."""

    def __init__(self, mailbox: Mailbox, transport: Any) -> None:
        self._mailbox = mailbox
        self._transport = transport
        self.seconds = mailbox.keep_seconds / 3
        self.due_at = time.monotonic() + self.seconds

    def run(self, client: Any) -> None:
        """Say so now."""
        self.due_at = time.monotonic() + self.seconds
        if not client._run(verbs.keep_mailboxes([self._mailbox.name])):
            return
        self._mailbox.open(client)
        for exchange, kind, routing_key in self._mailbox.bindings:
            client._run(verbs.bind_queue(exchange, kind, routing_key, self._mailbox.name))
        self._mailbox.watch_anew(self._transport)
