"""Around the handling of one message: its span, and what its logs and the messages it sends inherit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from signalbox.tracing import spans
from signalbox.tracing.context import Handled, handled

if TYPE_CHECKING:
    from signalbox.messages import Message


@contextmanager
def handling(queue: str, message: Message) -> Iterator[None]:
    """Handle a message within: workers do this for every handler; whoever calls `receive` himself may.

    What is sent within inherits the correlation id. With opentelemetry-api there is a span, and an exception is its
    status. Works in threads and in tasks.
    """
    token = handled.set(Handled(queue, message.id, message.receive_count, message.trace_id, message.correlation_id))
    try:
        with spans.consumer(queue, message) as span:
            try:
                yield
            except BaseException as error:
                kind = type(error)
                span.fail(
                    kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
                )
                raise
    finally:
        handled.reset(token)
