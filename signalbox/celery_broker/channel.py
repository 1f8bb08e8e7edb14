"""A channel: queues declared and bound, messages put, received, acknowledged and refused by the engine's verbs.

Nothing is ever republished: what is refused or not begun keeps its message, its count of deliveries and its story.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import time
from queue import Empty
from typing import Any
from uuid import uuid4

import psycopg
from amqp.protocol import queue_declare_ok_t
from kombu.transport import virtual
from kombu.transport.base import to_rabbitmq_queue_arguments

from signalbox.celery_broker import envelopes, verbs
from signalbox.celery_broker.mailboxes import Mailbox
from signalbox.celery_broker.waking import Watch
from signalbox.client import Client
from signalbox.errors import QueueNotFound
from signalbox.messages import Message as Delivery

#: Names that the engine takes as they are.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,89}")

logger = logging.getLogger(__name__)


class QoS(virtual.QoS):  # type: ignore[misc]
    """How many deliveries a channel may hold; what becomes of them is the leases' business."""

    restore_at_shutdown = False

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """No longer held."""
        self._quick_ack(delivery_tag)

    def room(self, most: int) -> int:
        """How many more deliveries may be held."""
        if not self.prefetch_count:
            return most
        return int(min(max(self.prefetch_count - self.held(), 0), most))

    def held(self) -> int:
        """How many are."""
        return len(self._delivered) - len(self._dirty)

    def leave(self) -> dict[str, Any]:
        """What is still held, and no longer by this channel."""
        self._flush()
        left = dict(self._delivered)
        self._delivered.clear()
        return left

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """Nothing: see `Channel.close`."""
        self._on_collect.cancel()


class Channel(virtual.Channel):  # type: ignore[misc]
    """Kombu's channel over the verbs of the engine."""

    QoS = QoS
    supports_fanout = True
    do_restore = False
    body_encoding = None
    from_transport_options = ("deadletter_queue",)

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

    # Declaring

    def queue_declare(self, queue: str | None = None, passive: bool = False, **options: Any) -> Any:
        """A queue of the engine, or a mailbox for what ends with its owner: exclusive, auto-deleted or expiring."""
        name = queue or f"amq.gen-{uuid4()}"
        if passive:
            return super().queue_declare(name, passive=True, **options)
        self._new_queue(name, **options)
        return queue_declare_ok_t(name, 0, 0)

    def prepare_queue_arguments(self, arguments: Any, **options: Any) -> Any:
        """What a declaration says of expiry, in RabbitMQ's words."""
        return to_rabbitmq_queue_arguments(arguments, **options)

    def _new_queue(self, queue: str, **options: Any) -> None:
        if mailbox := Mailbox.declared(queue, options):
            mailbox.open(self.verbs)
            self._mailboxes[queue] = mailbox
            return
        if queue in self._mailboxes:
            return
        arguments = options.get("arguments") or {}
        settings = {**self.options.made_with, **(arguments.get("x-signalbox") or {})}
        self.run(verbs.declare_queue(engine_name(queue), settings, self.options.tenant))

    def _has_queue(self, queue: str, **_: Any) -> bool:
        return queue in self._mailboxes or self.run(verbs.ready_messages(engine_name(queue))) is not None

    def _size(self, queue: str) -> int:
        return 0 if queue in self._mailboxes else self.run(verbs.ready_messages(engine_name(queue))) or 0

    def _purge(self, queue: str) -> int:
        if queue in self._mailboxes:
            return len(self.run(verbs.take_mail([queue])))
        purged = 0
        while some := self.verbs.purge(engine_name(queue)):
            purged += some
        return purged

    def queue_delete(self, queue: str, if_unused: bool = False, if_empty: bool = False, **_: Any) -> None:
        """A mailbox goes. A queue is only emptied: it has a history and settings, and is deleted by its operators."""
        if if_empty and self._size(queue):
            return
        self.state.queue_bindings_delete(queue)
        if mailbox := self._mailboxes.pop(queue, None):
            mailbox.close(self.verbs, self.leases)
        else:
            self._purge(queue)

    # Bindings: in the database, so that every process publishes to the same queues

    def queue_bind(
        self, queue: str, exchange: str | None = None, routing_key: str = "", arguments: Any = None, **_: Any
    ) -> None:
        """What is published to the exchange reaches the queue."""
        exchange = exchange or "amq.direct"
        kind = self.typeof(exchange).type
        if mailbox := self._mailboxes.get(queue):
            mailbox.bind(self.verbs, exchange, kind, routing_key or "")
            return
        self.run(verbs.bind_queue(exchange, kind, routing_key or "", engine_name(queue)))

    def queue_unbind(
        self, queue: str, exchange: str | None = None, routing_key: str = "", arguments: Any = None, **_: Any
    ) -> None:
        """It no longer does."""
        name = queue if queue in self._mailboxes else engine_name(queue)
        self.run(verbs.unbind_queue(exchange or "amq.direct", routing_key or "", name))

    def exchange_delete(self, exchange: str, if_unused: bool = False, nowait: bool = False) -> None:
        """Forget it; its bindings end with their queues."""
        self.state.exchanges.pop(exchange, None)

    # Publishing

    def basic_publish(self, message: dict[str, Any], exchange: str, routing_key: str, **_: Any) -> None:
        """Put a message into the queues that its exchange and routing key lead to."""
        self._inplace_augment_message(message, exchange, routing_key)
        if not exchange:
            self._put(routing_key, message)
            return
        for name, is_mailbox in self.run(verbs.route(exchange, routing_key or "")) or self._undeliverable():
            if is_mailbox:
                self.run(verbs.put_mail(name, message))
            else:
                self._send(name, message)

    def _undeliverable(self) -> list[tuple[str, bool]]:
        if self.deadletter_queue is None:
            return []
        self._new_queue(self.deadletter_queue)
        return [(engine_name(self.deadletter_queue), False)]

    def _inplace_augment_message(self, message: dict[str, Any], exchange: str, routing_key: str) -> None:
        properties = message["properties"]
        if "body_encoding" not in properties:  # else it is published again, after a connection was lost
            message["body"], properties["body_encoding"] = envelopes.packed(
                message["body"], message.get("content-type"), readable=self.options.readable
            )
        properties["delivery_tag"] = None
        properties["delivery_info"].update(exchange=exchange, routing_key=routing_key)

    def _put(self, queue: str, message: dict[str, Any], **_: Any) -> None:
        if queue in self._mailboxes:
            self.run(verbs.put_mail(queue, message))
            return
        try:
            self._send(engine_name(queue), message)
        except QueueNotFound:
            # A reply to somebody who may be gone, or a task for a queue that somebody has deleted: that is made anew.
            if self.run(verbs.put_mail(queue, message)) or not (message.get("headers") or {}).get("task"):
                return
            self._new_queue(queue)
            self._send(engine_name(queue), message)

    def _send(self, queue: str, message: dict[str, Any]) -> None:
        headers = message.get("headers") or {}
        self.verbs.send(
            queue,
            message,
            attributes=envelopes.attributes_of(headers),
            priority=self._get_message_priority(message),
            delay_seconds=envelopes.delay_of(headers),
        )

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

    def basic_get(self, queue: str, no_ack: bool = False, **_: Any) -> Any:
        """One message, or None."""
        if queue in self._mailboxes:
            raw = self._mailboxes[queue].next(self.verbs)
            return raw and self.Message(raw, channel=self)
        deliveries = self._receive(queue, 1)
        if not deliveries:
            return None
        message = self.Message(envelopes.opened(deliveries[0]), channel=self)
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
        for place, delivery in enumerate(deliveries):
            if queue not in self._watches:  # the consumer was cancelled meanwhile
                self.leases.give_back(later.receipt_handle for later in deliveries[place:])
                break
            if queue in self._no_ack:
                self.leases.ack(delivery.receipt_handle)
            self.connection._deliver(envelopes.opened(delivery), queue)
        return bool(deliveries)

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
        except psycopg.Error:
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
        name = self._name_of(delivery_tag)
        self.qos.reject(delivery_tag)
        if requeue:
            self.leases.fail(
                delivery_tag, error_class="Requeued", error=f"{name} was given back: its worker could not finish it."
            )
        else:
            self.leases.fail(
                delivery_tag, reason="rejected", error_class="Rejected", error=f"{name} was refused by its worker."
            )
        self.transport.bell.ring()

    def _name_of(self, delivery_tag: str) -> str:
        message = self.qos._delivered.get(delivery_tag)
        return str((message is not None and message.headers.get("task")) or "The message")

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

    # Kombu's bodies

    def encode_body(self, body: Any, encoding: str | None = None) -> tuple[Any, str | None]:
        """As it is kept."""
        return envelopes.packed(body, None, readable=False) if isinstance(body, str | bytes) else (body, encoding)

    def decode_body(self, body: Any, encoding: str | None = None) -> Any:
        """As it was published."""
        return envelopes.unpacked(body, encoding)

    @property
    def verbs(self) -> Client:
        """The engine's, over this connection."""
        client: Client = self.transport.verbs
        return client

    def run(self, statement: Any) -> Any:
        """One of the broker's own verbs."""
        return self.transport.verbs._run(statement)


class Presence:
    """Tells the console that this process consumes a queue."""

    seconds = 10.0

    def __init__(self, queue: str, consumer: str) -> None:
        self._queue = queue
        self._consumer = consumer
        self.due_at = 0.0

    def run(self, client: Any) -> None:
        """Say so."""
        self.due_at = time.monotonic() + self.seconds
        try:
            client.announce_consumer(self._queue, self._consumer, {"pid": os.getpid(), "celery": True})
        except QueueNotFound:
            logger.debug("The queue %s is gone", self._queue)


def engine_name(queue: str) -> str:
    """The queue's name in the engine: its own, or one made of it where the engine would not take it."""
    if _PLAIN_NAME.fullmatch(queue):
        return queue
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", queue).strip("-._")[:80] or "queue"
    return f"{plain}-{hashlib.sha256(queue.encode()).hexdigest()[:8]}"
