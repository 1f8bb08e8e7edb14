"""Which story a message belongs to: trace and correlation ids, from send to handler to whatever that sends.

They travel in the message's attributes, so they outlive deliveries, deaths and redrives. The trace context is picked up
where opentelemetry-api is installed and a span is under way, and nowhere else; correlation ids need nothing.
"""

from signalbox.tracing.context import (
    CORRELATION_ID,
    TRACEPARENT,
    TRACESTATE,
    Handled,
    carried,
    correlation_id_of,
    current,
    trace_id_of,
)
from signalbox.tracing.handling import handling
from signalbox.tracing.spans import moved, received

__all__ = [
    "CORRELATION_ID",
    "TRACEPARENT",
    "TRACESTATE",
    "Handled",
    "carried",
    "correlation_id_of",
    "current",
    "handling",
    "moved",
    "received",
    "trace_id_of",
]
