"""The consuming half of a channel: messages received, delivered, acknowledged and refused by the engine's verbs.

No message is ever published a second time: after a refused delivery, or one that was not begun, the message keeps its
id, its number of deliveries and its history.
"""

from __future__ import annotations

import logging
import os
import socket
import time
import traceback
from functools import partial
from typing import Any

from kombu.transport import virtual

from signalbox.celery import envelopes
from signalbox.celery.calls import engine_name
from signalbox.celery.leases import Chore
from signalbox.celery.mailboxes import Mailbox
from signalbox.celery.prefetching import QoS
from signalbox.celery.wakeup import Watch
from signalbox.client import Client
from signalbox.errors import MessageUnreadable, QueueNotFound
from signalbox.logs import in_brief
from signalbox.messages import Message as Delivery

#: Seconds between two announcements of a consumer.
ANNOUNCE_SECONDS = 10.0

logger = logging.getLogger(__name__)


class ConsumingChannel(virtual.Channel):  # type: ignore[misc]
    """The consuming half of a channel; `Channel` adds `_new_queue`."""

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
        """Deliver the messages of the queue to `callback`."""
        if mailbox := self._mailboxes.get(queue):
            mailbox.watch(self.transport, self.leases)
            no_ack = True
        else:
            name = engine_name(queue)
            interval = self.options.polling_interval
            self._watches[queue] = Watch(self.transport.bell, self.transport.listener, name, interval)
            announcing = Chore(ANNOUNCE_SECONDS, partial(_announce, name, self.options.consumer))
            self.leases.schedule((self, queue), announcing)
        if no_ack:
            self._no_ack.add(queue)
        super().basic_consume(queue, no_ack, callback, consumer_tag, *arguments, **options)
        self.transport.bell.ring()

    def basic_cancel(self, consumer_tag: str) -> None:
        """Stop delivering to this consumer."""
        queue = self._tag_to_queue.get(consumer_tag)
        super().basic_cancel(consumer_tag)
        if queue is None:
            return
        self._no_ack.discard(queue)
        self._stop_watching(queue)

    def _stop_watching(self, queue: str) -> None:
        if os.getpid() != self._owner:
            return  # the watches belong to the parent process
        if watch := self._watches.pop(queue, None):
            watch.close()
            self.leases.forget((self, queue))
        if mailbox := self._mailboxes.get(queue):
            mailbox.ignore(self.leases)

    def basic_qos(self, prefetch_size: int = 0, prefetch_count: int = 0, apply_global: bool = False) -> None:
        """Set the number of deliveries that the channel may hold, and receive at once if there is room."""
        super().basic_qos(prefetch_size, prefetch_count, apply_global)
        self.transport.bell.ring()

    def basic_get(self, queue: str, no_ack: bool = False, **_: Any) -> Any:
        """Receive one message; None when there is none."""
        if mailbox := self._mailboxes.get(queue):
            raw = mailbox.next(self.verbs)
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

    def deliver(self) -> bool:
        """Deliver a message from a mailbox, or messages from a queue, that is due; True when there was one."""
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
        for step in range(len(queues)):
            if not (room := self._room()):
                return False
            queue = queues[(self._turn + step) % len(queues)]
            if not self._watches[queue].is_due(time.monotonic()):
                continue
            if self._deliver_some(queue, room):
                self._turn += step + 1
                return True
        return False

    def _room(self) -> int:
        """The number of messages to ask for: zero while acks wait for others, until half of the slots are free."""
        room = self.qos.room(self.options.max_batch)
        held = self.qos.held()
        if not room or not held or room >= held or not self.leases.pending_acks():
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
        watch.start_check()
        deliveries = self._receive(queue, room)
        if len(deliveries) < room:
            watch.note_empty()
        else:
            watch.note_more()
        delivered = 0
        try:
            for delivery in deliveries:
                if queue not in self._watches:
                    break  # the consumer was cancelled by an earlier delivery
                delivered += 1
                if queue in self._no_ack:
                    self.leases.ack(delivery.receipt_handle)
                self._deliver_one(delivery, queue)
        finally:
            if delivered < len(deliveries):  # no consumer is left for the rest
                self.leases.give_back(later.receipt_handle for later in deliveries[delivered:])
        return bool(deliveries)

    def _deliver_one(self, delivery: Delivery, queue: str) -> None:
        """Deliver one message; an error is recorded as a failed delivery.

        Without the failure the message would come back for ever, and stop one consumer after another. Outside a worker
        the error is raised too, for the program that drains the connection.
        """
        try:
            self.connection._deliver(envelopes.opened(delivery), queue)
        except Exception as error:
            # Celery knows errors that end the connection by their classes.
            ending = (*self.transport.connection_errors, *self.transport.channel_errors)
            if isinstance(error, ending) and not isinstance(error, MessageUnreadable):
                raise
            self._fail(delivery.receipt_handle, error)
            if not self.transport.is_driven:
                raise

    def _fail(self, handle: str, error: Exception) -> None:
        name = self.leases.name_of(handle)
        logger.error("%s could not be delivered: %s", name, in_brief(error))
        if not self.leases.holds(handle):
            return  # its consumer has settled the delivery
        if self.qos.get_if_held(handle) is not None:
            self.qos.reject(handle)
        self.leases.fail(
            handle,
            reason="rejected" if isinstance(error, MessageUnreadable) else "runtime_error",
            error_class=type(error).__name__,
            error=str(error),
            details="".join(traceback.format_exception(error)),
        )

    def _receive(self, queue: str, max_messages: int) -> list[Delivery]:
        """Receive messages and send the pending acknowledgements in the same call and commit."""
        name = engine_name(queue)
        acks = self.leases.pop_pending_acks()
        try:
            if acks:
                done = self.verbs.ack_and_receive(acks, name, max_messages, consumer=self.options.consumer)
                self.leases.acked(done.acked)
                deliveries = done.messages
            else:
                deliveries = self.verbs.receive(name, max_messages, consumer=self.options.consumer)
        except QueueNotFound:
            self.leases.put_back(acks)
            self._new_queue(queue)  # the queue was deleted
            return []
        except Exception:
            self.leases.put_back(acks)
            raise
        self.leases.hold(deliveries)
        return [delivery for delivery in deliveries if not self._ended(delivery)]

    def _ended(self, delivery: Delivery) -> bool:
        """Acknowledge the message if it has expired; return whether it has."""
        if expired := envelopes.is_expired(delivery):
            self.leases.ack(delivery.receipt_handle)
        return expired

    def next_look(self, now: float) -> float:
        """The latest time of the next delivery."""
        ends = [mailbox.due_at for queue, mailbox in self._mailboxes.items() if queue in self._active_queues]
        if self._first_ack_at is not None:
            ends.append(self._first_ack_at + self.options.ack_delay)
        elif self.qos.room(1):
            ends += [watch.due_at for watch in self._watches.values()]
        return min(ends, default=float("inf"))

    # Settling

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        """Acknowledge a delivery, also on a closed channel: the lease belongs to the process."""
        for tag in [*self.qos._delivered] if multiple else [delivery_tag]:
            self.qos.ack(tag)
            self.leases.ack(tag)
            if tag == delivery_tag:
                break
        self.transport.bell.ring()

    def basic_reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Refuse a delivery: for good, which makes a dead letter, or with `requeue` as a failure that is retried."""
        message = self.qos.get_if_held(delivery_tag)
        failure = getattr(message, "failure", None)
        name = self.leases.name_of(delivery_tag)
        self.qos.reject(delivery_tag)
        if requeue and getattr(message, "is_put_off", not self.options.requeue_counts):
            self.leases.put_off(delivery_tag, None if self.transport.is_driven else self.verbs)
        elif requeue:
            generic = {"error_class": "Requeued", "error": f"{name} was given back: its worker could not finish it."}
            self.leases.fail(delivery_tag, **(failure or generic))
        else:
            generic = {"error_class": "Rejected", "error": f"{name} was refused by its worker."}
            self.leases.fail(delivery_tag, reason="rejected", **(failure or generic))
        self.transport.bell.ring()

    def basic_recover(self, requeue: bool = False) -> None:
        """Give back the deliveries that were not begun."""
        self.leases.give_back(self.qos.release_all())

    def _restore(self, message: Any) -> None:
        self.leases.give_back([message.delivery_tag])

    # The end

    def close(self) -> None:
        """Stop consuming. Deliveries stay leased for as long as a task of this process works on them."""
        if not self.closed and os.getpid() == self._owner:
            for queue in list(self._watches):
                self._stop_watching(queue)
            for mailbox in self._mailboxes.values():
                mailbox.ignore(self.leases)
            if self._qos is not None:
                self.leases.abandon(self._qos.release_all())
        super().close()

    @property
    def verbs(self) -> Client:
        """The client of this connection."""
        client: Client = self.transport.verbs
        return client

    def run(self, call: Any) -> Any:
        """Carry out one of the broker's own calls."""
        return self.transport.verbs._run(call)


def _announce(queue: str, consumer: str, client: Client) -> None:
    """Announce this process to the console as a consumer of the queue."""
    details = {"host": socket.gethostname(), "pid": os.getpid(), "handler": "Celery"}
    try:
        client.announce_consumer(queue, consumer, details)
    except QueueNotFound:
        logger.debug("The queue %s no longer exists", queue)
