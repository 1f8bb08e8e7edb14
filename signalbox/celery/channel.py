"""The channel of kombu: it publishes, declares and binds; `ConsumingChannel` receives and settles."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from amqp.protocol import queue_declare_ok_t
from kombu.transport.base import to_rabbitmq_queue_arguments

from signalbox.calls.sending import SendOptions
from signalbox.celery import calls, envelopes
from signalbox.celery.calls import engine_name
from signalbox.celery.consuming import ConsumingChannel
from signalbox.celery.mailboxes import Mailbox
from signalbox.errors import InvalidArgument, QueueNotFound


class Channel(ConsumingChannel):
    """Kombu's channel over the verbs of the engine."""

    supports_fanout = True
    body_encoding = None
    from_transport_options = ("deadletter_queue",)

    # Declaring

    def queue_declare(self, queue: str | None = None, passive: bool = False, **options: Any) -> Any:
        """Declare a queue, or a mailbox for one that ends with its owner: exclusive, auto-deleted or expiring."""
        name = queue or f"amq.gen-{uuid4()}"
        if passive:
            return super().queue_declare(name, passive=True, **options)
        self._new_queue(name, **options)
        return queue_declare_ok_t(name, 0, 0)

    def prepare_queue_arguments(self, arguments: Any, **options: Any) -> Any:
        """Write the expiry of a declaration with RabbitMQ's names."""
        return to_rabbitmq_queue_arguments(arguments, **options)

    def _new_queue(self, queue: str, **options: Any) -> None:
        if mailbox := Mailbox.declared(queue, options):
            mailbox.open(self.verbs)
            self._mailboxes[queue] = mailbox
            return
        if queue in self._mailboxes:
            return
        arguments = options.get("arguments") or {}
        settings = {**self.options.new_queue_settings, **(arguments.get("x-signalbox") or {})}
        self.run(calls.declare_queue(engine_name(queue), settings, self.options.tenant))

    def _has_queue(self, queue: str, **_: Any) -> bool:
        return queue in self._mailboxes or self.run(calls.ready_messages(engine_name(queue))) is not None

    def _size(self, queue: str) -> int:
        return 0 if queue in self._mailboxes else self.run(calls.ready_messages(engine_name(queue))) or 0

    def _purge(self, queue: str) -> int:
        if queue in self._mailboxes:
            return len(self.run(calls.take_mail([queue])))
        purged = 0
        while count := self.verbs.purge(engine_name(queue)):
            purged += count
        return purged

    def queue_delete(self, queue: str, if_unused: bool = False, if_empty: bool = False, **_: Any) -> None:
        """Delete a mailbox, or empty a queue: a queue has history and settings, and only its operators delete it."""
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
        """Bind the queue: messages that are published to the exchange reach it."""
        exchange = exchange or "amq.direct"
        kind = self.typeof(exchange).type
        if mailbox := self._mailboxes.get(queue):
            mailbox.bind(self.verbs, exchange, kind, routing_key or "")
            return
        self.run(calls.bind_queue(exchange, kind, routing_key or "", engine_name(queue)))

    def queue_unbind(
        self, queue: str, exchange: str | None = None, routing_key: str = "", arguments: Any = None, **_: Any
    ) -> None:
        """Remove the binding of the queue."""
        name = queue if queue in self._mailboxes else engine_name(queue)
        self.run(calls.unbind_queue(exchange or "amq.direct", routing_key or "", name))

    def exchange_delete(self, exchange: str, if_unused: bool = False, nowait: bool = False) -> None:
        """Forget the exchange; its bindings end with their queues."""
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
        for name, is_mailbox in self.run(calls.route(exchange, routing_key or "")) or self._undeliverable():
            if is_mailbox:
                self.run(calls.put_mail(name, message))
            else:
                self._send(name, message)

    def _undeliverable(self) -> list[tuple[str, bool]]:
        if self.deadletter_queue is None:
            return []
        self._new_queue(self.deadletter_queue)
        return [(engine_name(self.deadletter_queue), False)]

    def _inplace_augment_message(self, message: dict[str, Any], exchange: str, routing_key: str) -> None:
        properties = message["properties"]
        if "body_encoding" not in properties:  # a repeated publish has a packed body
            message["body"], properties["body_encoding"] = envelopes.packed(
                message["body"], message.get("content-type"), readable=self.options.readable
            )
        properties["delivery_tag"] = None
        properties["delivery_info"].update(exchange=exchange, routing_key=routing_key)

    def _put(self, queue: str, message: dict[str, Any], **_: Any) -> None:
        if queue in self._mailboxes:
            self.run(calls.put_mail(queue, message))
            return
        try:
            self._send(engine_name(queue), message)
        except QueueNotFound:
            # A reply whose mailbox may be gone, or a task for a deleted queue, which is created again.
            if self.run(calls.put_mail(queue, message)) or not (message.get("headers") or {}).get("task"):
                return
            self._new_queue(queue)
            self._send(engine_name(queue), message)

    def _send(self, queue: str, message: dict[str, Any]) -> None:
        headers = message.get("headers") or {}
        options = SendOptions(
            attributes=envelopes.attributes_of(headers),
            priority=self._get_message_priority(message),
            delay_seconds=envelopes.delay_of(headers),
            expires_at=envelopes.end_of(message, datetime.now(UTC)),
        )
        try:
            self.verbs.send(queue, message, **options)
        except InvalidArgument as error:
            if error.field != "expires_at":
                raise
            options["expires_at"] = None  # expires during its delay: the consumer drops it
            self.verbs.send(queue, message, **options)

    # Kombu's bodies

    def encode_body(self, body: Any, encoding: str | None = None) -> tuple[Any, str | None]:
        """Pack the body for the database."""
        return envelopes.packed(body, None, readable=False) if isinstance(body, str | bytes) else (body, encoding)

    def decode_body(self, body: Any, encoding: str | None = None) -> Any:
        """Unpack the body as it was published."""
        return envelopes.unpacked(body, encoding)
