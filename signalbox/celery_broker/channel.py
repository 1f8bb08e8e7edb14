"""A channel: the publishing half, with queues declared and bound, on top of the consuming one."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from amqp.protocol import queue_declare_ok_t
from kombu.transport.base import to_rabbitmq_queue_arguments

from signalbox.celery_broker import envelopes, verbs
from signalbox.celery_broker.consuming import ConsumingChannel
from signalbox.celery_broker.mailboxes import Mailbox
from signalbox.celery_broker.names import engine_name
from signalbox.errors import QueueNotFound


class Channel(ConsumingChannel):
    """Kombu's channel over the verbs of the engine."""

    supports_fanout = True
    body_encoding = None
    from_transport_options = ("deadletter_queue",)

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
        # Copied: kombu keeps the properties, and gives them again with the unpacked body when it repeats a publish.
        delivery_info = dict(message["properties"]["delivery_info"])
        message = {**message, "properties": {**message["properties"], "delivery_info": delivery_info}}
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
        if "body_encoding" not in properties:  # else it comes as it was kept
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

    # Kombu's bodies

    def encode_body(self, body: Any, encoding: str | None = None) -> tuple[Any, str | None]:
        """As it is kept."""
        return envelopes.packed(body, None, readable=False) if isinstance(body, str | bytes) else (body, encoding)

    def decode_body(self, body: Any, encoding: str | None = None) -> Any:
        """As it was published."""
        return envelopes.unpacked(body, encoding)
