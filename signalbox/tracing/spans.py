"""Spans where opentelemetry-api is installed; without it, each of these does nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from signalbox.messages import Message

try:
    from signalbox.tracing import opentelemetry_spans as _opentelemetry
except ImportError:
    _opentelemetry = None  # type: ignore[assignment]


class Span(Protocol):
    """What a handled message's span is told."""

    def fail(self, error_class: str) -> None: ...


class _NoSpan:
    def fail(self, error_class: str) -> None:
        """Nobody listens."""


def under_way() -> dict[str, str]:
    """The context of the span under way, as traceparent and, where it has one, tracestate; empty without a span."""
    return _opentelemetry.under_way() if _opentelemetry else {}


def consumer(queue: str, message: Message) -> AbstractContextManager[Span]:
    """A span around the handling of one message: child of the span that sent it, and linked to it."""
    return _opentelemetry.consumer(queue, message) if _opentelemetry else nullcontext(_NoSpan())


def received(queue: str, messages: Sequence[Message], began_ns: int) -> None:
    """A span of a receive that was answered with messages, linked to those who sent them."""
    if _opentelemetry and messages:
        _opentelemetry.received(queue, messages, began_ns)


@contextmanager
def moved(queue: str, traceparents: Sequence[str]) -> Iterator[None]:
    """A span around sending dead letters again, linked to the spans that sent them first."""
    if not _opentelemetry:
        yield
        return
    with _opentelemetry.moved(queue, traceparents):
        yield


def installed() -> bool:
    """Can there be spans at all?"""
    return _opentelemetry is not None


now_ns = time.time_ns
