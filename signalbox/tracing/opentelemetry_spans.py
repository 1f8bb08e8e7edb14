"""Spans by opentelemetry-api, named and described as its conventions for messaging want it.

Never an attribute from a payload, and of an error its class alone: its words may quote the payload.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

if TYPE_CHECKING:
    from signalbox.messages import Message

SYSTEM = "signalbox"
MOST_LINKS = 128  # what the SDK keeps of them

_propagator = TraceContextTextMapPropagator()


class ConsumerSpan:
    """The span of one handled message."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def fail(self, error_class: str) -> None:
        self._span.set_attribute("error.type", error_class)
        self._span.set_status(Status(StatusCode.ERROR, error_class))


def under_way() -> dict[str, str]:
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return carrier


@contextmanager
def consumer(queue: str, message: Message) -> Iterator[ConsumerSpan]:
    sent_by = _context_of(message.attributes)
    attributes = _described("process", queue) | {
        "messaging.message.id": str(message.id),
        "signalbox.message.receive_count": message.receive_count,
        "signalbox.message.priority": message.priority,
    }
    if message.correlation_id is not None:
        attributes["messaging.message.conversation_id"] = message.correlation_id
    with _tracer().start_as_current_span(
        f"process {queue}",
        context=sent_by,
        kind=SpanKind.CONSUMER,
        attributes=attributes,
        links=_links([message.attributes]),
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        yield ConsumerSpan(span)


def received(queue: str, messages: Sequence[Message], began_ns: int) -> None:
    attributes = _described("receive", queue) | {"messaging.batch.message_count": len(messages)}
    links = _links(message.attributes for message in messages)
    _tracer().start_span(
        f"receive {queue}", kind=SpanKind.CLIENT, attributes=attributes, links=links, start_time=began_ns
    ).end()


@contextmanager
def moved(queue: str, traceparents: Sequence[str]) -> Iterator[None]:
    attributes = _described("send", queue) | {"signalbox.redrive": True}
    links = _links({"traceparent": one} for one in traceparents)
    with _tracer().start_as_current_span(
        f"redrive {queue}",
        kind=SpanKind.PRODUCER,
        attributes=attributes,
        links=links,
        record_exception=False,
        set_status_on_exception=False,
    ):
        yield


def _tracer() -> trace.Tracer:
    return trace.get_tracer("signalbox")


def _described(operation: str, queue: str) -> dict[str, Any]:
    return {
        "messaging.system": SYSTEM,
        "messaging.destination.name": queue,
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
    }


def _context_of(attributes: Mapping[str, Any]) -> Context:
    """The context that a message carries, on nothing else: whoever receives it is not its parent."""
    carrier = {
        name: attributes[name] for name in ("traceparent", "tracestate") if isinstance(attributes.get(name), str)
    }
    return _propagator.extract(carrier, context=Context())


def _links(several: Iterable[Mapping[str, Any]]) -> list[Link]:
    contexts = (trace.get_current_span(_context_of(attributes)).get_span_context() for attributes in several)
    links = [Link(context) for context in contexts if context.is_valid]
    return links[:MOST_LINKS]
