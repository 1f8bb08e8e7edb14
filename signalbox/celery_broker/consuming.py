"""The consuming half of a channel: messages received, delivered, acknowledged and refused by the engine's verbs.

Nothing is ever republished: what is refused or not begun keeps its message, its count of deliveries and its story.
"""

from __future__ import annotations

import logging
import os
import time
import traceback
from queue import Empty
from typing import Any

from kombu.transport import virtual

from signalbox.celery_broker import envelopes
from signalbox.celery_broker.mailboxes import Mailbox
from signalbox.celery_broker.names import engine_name
from signalbox.celery_broker.prefetching import QoS
from signalbox.celery_broker.presence import Presence
from signalbox.celery_broker.waking import Watch
from signalbox.client import Client
from signalbox.errors import MessageUnreadable, QueueNotFound
from signalbox.logs import in_brief
from signalbox.messages import Message as Delivery

logger = logging.getLogger(__name__)


class ConsumingChannel(virtual.Channel):  # type: ignore[misc]
    """What `Channel` is made of, with `_new_queue` to come."""

    QoS = QoS
    do_restore = False

    def __init__(self, connection: Any, **options: Any) -> None:
        self.transport = connection
        self.options = connection.options
        self.leases = connection.leases
        self._owner = os.getpid()
        self._watches: dict[str, Watch] = {}
        self._mailboxes: dict[str, Mailbox] = {}
        self._no_ack: set[str] = set()
        self._turn = 0
        self._first_ack_at: float | None = None
        super().__init__(connection, **options)

    # Receiving

    def basic_consume(
        self, queue: str, no_ack: bool, callback: Any, consumer_tag: str, *arguments: Any, **options: Any
    ) -> None:
        """Deliver what comes into the queue to `callback`."""
        if mailbox := self._mailboxes.get(queue):
            mailbox.watch(self.transport, self.leases)
            no_ack = True
        else:
            name = engine_name(queue)
            self._watches[queue] = Watch(
                self.transport.bell, self.transport.listener, name, self.options.polling_interval
            )
            self.leases.every((self, queue), Presence(name, self.options.consumer))
        if no_ack:
            self._no_ack.add(queue)
        super().basic_consume(queue, no_ack, callback, consumer_tag, *arguments, **options)
        self.transport.bell.ring()

    def basic_cancel(self, consumer_tag: str) -> None:
        """Deliver no more to this consumer."""
        queue = self._tag_to_queue.get(consumer_tag)
        super().basic_cancel(consumer_tag)
        if queue is None:
            return
        self._no_ack.discard(queue)
        self._stop_watching(queue)

    def _stop_watching(self, queue: str) -> None:
        if os.getpid() != self._owner:
            return  # the watches are our parent's
        if watch := self._watches.pop(queue, None):
            watch.close()
            self.leases.forget((self, queue))
        if mailbox := self._mailboxes.get(queue):
            mailbox.ignore(self.leases)

    def basic_qos(self, prefetch_size: int = 0, prefetch_count: int = 0, apply_global: bool = False) -> None:
        """From now on so many may be held: there may be room at once."""
        super().basic_qos(prefetch_size, prefetch_count, apply_global)
        self.transport.bell.ring()

    def basic_get(self, queue: str, no_ack: bool = False, **_: Any) -> Any:
        """One message, or None."""
        if queue in self._mailboxes:
            raw = self._mailboxes[queue].next(self.verbs)
            return raw and self.Message(raw, channel=self)
        deliveries = self._receive(queue, 1)
        if not deliveries:
            return None
        try:
            message = self.Message(envelopes.opened(deliveries[0]), channel=self)
        except Exception as error:
            self._fail(deliveries[0].receipt_handle, error)
            raise
        if no_ack:
            self.leases.ack(message.delivery_tag)
        else:
            self.qos.append(message, message.delivery_tag)
        return message

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        if deliveries := self._receive(queue, 1):
            return envelopes.opened(deliveries[0])
        raise Empty

    def deliver(self) -> bool:
        """Look into the mailboxes and queues that are due, and deliver what is there. Was there any?"""
        if self.closed or not self._consumers:
            return False
        return self._deliver_mail() or self._deliver_tasks()

    def _deliver_mail(self) -> bool:
        now = time.monotonic()
        for queue in [queue for queue in self._active_queues if queue in self._mailboxes]:
            if raw := self._mailboxes[queue].next_if_due(self.verbs, now):
                self.connection._deliver(raw, queue)
                return True
        return False

    def _deliver_tasks(self) -> bool:
        queues = [queue for queue in self._active_queues if queue in self._watches]
        for place in range(len(queues)):
            if not (room := self._room()):
                return False
            queue = queues[(self._turn + place) % len(queues)]
            if not self._watches[queue].is_due(time.monotonic()):
                continue
            if self._deliver_some(queue, room):
                self._turn += place + 1
                return True
        return False

    def _room(self) -> int:
        """How many to ask for now. While acknowledgements gather there is none, unless half of all has become free."""
        room = self.qos.room(self.options.max_batch)
        held = self.qos.held()
        if not room or not held or room >= held or not self.leases.waiting_acks():
            self._first_ack_at = None
            return int(room)
        now = time.monotonic()
        if self._first_ack_at is None:
            self._first_ack_at = now
        if now - self._first_ack_at < self.options.ack_delay:
            return 0
        self._first_ack_at = None
        return int(room)

    def _deliver_some(self, queue: str, room: int) -> bool:
        watch = self._watches[queue]
        watch.look()
        deliveries = self._receive(queue, room)
        if len(deliveries) < room:
            watch.found_nothing_more()
        else:
            watch.found_more()
        given = 0
        try:
            for delivery in deliveries:
                if queue not in self._watches:
                    break  # the consumer was cancelled meanwhile
                given += 1
                if queue in self._no_ack:
                    self.leases.ack(delivery.receipt_handle)
                self._deliver_one(delivery, queue)
        finally:
            if given < len(deliveries):  # nobody knows of these
                self.leases.give_back(later.receipt_handle for later in deliveries[given:])
        return bool(deliveries)

    def _deliver_one(self, delivery: Delivery, queue: str) -> None:
        """One that cannot be delivered has failed: given back it would end every consumer, one after the other.

        In a worker that is all; whoever drains the connection is told as well.
        """
        try:
            self.connection._deliver(envelopes.opened(delivery), queue)
        except Exception as error:
            if self._ends_the_connection(error):
                raise
            self._fail(delivery.receipt_handle, error)
            if not self.transport.is_driven:
                raise

    def _ends_the_connection(self, error: Exception) -> bool:
        """Does it end the connection, not only this delivery? Celery knows those errors by their classes."""
        ending = (*self.transport.connection_errors, *self.transport.channel_errors)
        return isinstance(error, ending) and not isinstance(error, MessageUnreadable)

    def _fail(self, handle: str, error: Exception) -> None:
        name = self.leases.name_of(handle)
        logger.error("%s could not be delivered: %s", name, in_brief(error))
        if not self.leases.holds(handle):
            return  # its consumer has settled it
        if self.qos.get_if_held(handle) is not None:
            self.qos.reject(handle)
        self.leases.fail(
            handle,
            reason="rejected" if isinstance(error, MessageUnreadable) else "runtime_error",
            error_class=type(error).__name__,
            error=str(error),
            details="".join(traceback.format_exception(error)),
        )

    def _receive(self, queue: str, most: int) -> list[Delivery]:
        """Receive, and send along the acknowledgements that wait: one call, one commit."""
        name = engine_name(queue)
        acks = self.leases.take_acks()
        try:
            if acks:
                done = self.verbs.ack_and_receive(acks, name, most, consumer=self.options.consumer)
                self.leases.acked(done.acked)
                deliveries = done.messages
            else:
                deliveries = self.verbs.receive(name, most, consumer=self.options.consumer)
        except QueueNotFound:
            self.leases.put_back(acks)
            self._new_queue(queue)  # somebody has deleted it
            return []
        except Exception:
            self.leases.put_back(acks)
            raise
        self.leases.hold(deliveries, name)
        return deliveries

    def next_look(self, now: float) -> float:
        """When to look again at the latest."""
        ends = [mailbox.due_at for queue, mailbox in self._mailboxes.items() if queue in self._active_queues]
        if self._first_ack_at is not None:
            ends.append(self._first_ack_at + self.options.ack_delay)
        elif self.qos.room(1):
            ends += [watch.due_at for watch in self._watches.values()]
        return min(ends, default=float("inf"))

    # Settling

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        """Done. Also of a channel that is closed: the lease is the process's."""
        for tag in [*self.qos._delivered] if multiple else [delivery_tag]:
            self.qos.ack(tag)
            self.leases.ack(tag)
            if tag == delivery_tag:
                break
        self.transport.bell.ring()

    def basic_reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Refused: for good, and then a dead letter, or for now, and then a failure, retried until it is too many."""
        failure = getattr(self.qos.get_if_held(delivery_tag), "failure", None)
        name = self.leases.name_of(delivery_tag)
        self.qos.reject(delivery_tag)
        if requeue:
            generic = {"error_class": "Requeued", "error": f"{name} was given back: its worker could not finish it."}
            self.leases.fail(delivery_tag, **(failure or generic))
        else:
            generic = {"error_class": "Rejected", "error": f"{name} was refused by its worker."}
            self.leases.fail(delivery_tag, reason="rejected", **(failure or generic))
        self.transport.bell.ring()

    def basic_recover(self, requeue: bool = False) -> None:
        """Give back all that is held and not begun."""
        self.leases.give_back(self.qos.leave())

    def _restore(self, message: Any) -> None:
        self.leases.give_back([message.delivery_tag])

    def _restore_at_beginning(self, message: Any) -> None:
        self._restore(message)

    # The end

    def close(self) -> None:
        """Consume no more. What is held goes on to be, as long as somebody works on it."""
        if not self.closed and os.getpid() == self._owner:
            for queue in list(self._watches):
                self._stop_watching(queue)
            for mailbox in self._mailboxes.values():
                mailbox.ignore(self.leases)
            if self._qos is not None:
                self.leases.loosen(self._qos.leave())
        super().close()

    @property
    def verbs(self) -> Client:
        """The engine's, over this connection."""
        client: Client = self.transport.verbs
        return client

    def run(self, statement: Any) -> Any:
        """One of the broker's own verbs."""
        return self.transport.verbs._run(statement)
