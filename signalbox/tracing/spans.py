"""Spans of opentelemetry-api, named and described by its conventions for messaging; none where it is not installed.

No attribute holds a part of a payload, and of an error only the class: its message may quote the payload.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from signalbox.tracing.attributes import TRACEPARENT, TRACESTATE

try:
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, SpanKind, Status, StatusCode
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    _propagator = None
else:
    _propagator = TraceContextTextMapPropagator()

if TYPE_CHECKING:
    from signalbox.messages import Message

SYSTEM = "signalbox"
MAX_LINKS = 128  # the SDK keeps no more


def installed() -> bool:
    """Return whether opentelemetry-api is installed."""
    return _propagator is not None


def current_context() -> dict[str, str]:
    """The context of the current span as traceparent and, if it has one, tracestate; empty without a span."""
    carrier: dict[str, str] = {}
    if _propagator is not None:
        _propagator.inject(carrier)
    return carrier


@contextmanager
def consumer(queue: str, message: Message) -> Iterator[None]:
    """Record a span around the handling of one message: child of the span that sent it, and linked to it."""
    if not installed():
        yield
        return
    attributes = _described("process", queue) | {
        "messaging.message.id": str(message.id),
        "signalbox.message.receive_count": message.receive_count,
        "signalbox.message.priority": message.priority,
    }
    if message.correlation_id is not None:
        attributes["messaging.message.conversation_id"] = message.correlation_id
    with _tracer().start_as_current_span(
        f"process {queue}",
        context=_context_of(message.attributes),
        kind=SpanKind.CONSUMER,
        attributes=attributes,
        links=_links([message.attributes]),
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield
        except BaseException as error:
            kind = type(error)
            name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
            span.set_attribute("error.type", name)
            span.set_status(Status(StatusCode.ERROR, name))
            raise


def received(queue: str, messages: Sequence[Message], began_ns: int) -> None:
    """Record a span of a receive that returned messages, linked to the spans that sent them."""
    if not (installed() and messages):
        return
    attributes = _described("receive", queue) | {"messaging.batch.message_count": len(messages)}
    links = _links(message.attributes for message in messages)
    _tracer().start_span(
        f"receive {queue}", kind=SpanKind.CLIENT, attributes=attributes, links=links, start_time=began_ns
    ).end()


@contextmanager
def moved(queue: str, traceparents: Sequence[str]) -> Iterator[None]:
    """Record a span around a redrive, linked to the spans that sent the messages first."""
    if not installed():
        yield
        return
    with _tracer().start_as_current_span(
        f"redrive {queue}",
        kind=SpanKind.PRODUCER,
        attributes=_described("send", queue) | {"signalbox.redrive": True},
        links=_links({TRACEPARENT: traceparent} for traceparent in traceparents),
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
    """The context in a message's attributes, without the current span: the receiver is not its parent."""
    carrier = {name: attributes[name] for name in (TRACEPARENT, TRACESTATE) if isinstance(attributes.get(name), str)}
    assert _propagator is not None  # noqa: S101 - else there are no spans
    return _propagator.extract(carrier, context=Context())


def _links(several: Iterable[Mapping[str, Any]]) -> list[Link]:
    contexts = (trace.get_current_span(_context_of(attributes)).get_span_context() for attributes in several)
    return [Link(context) for context in contexts if context.is_valid][:MAX_LINKS]
