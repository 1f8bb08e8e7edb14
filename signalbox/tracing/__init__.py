"""Trace and correlation ids of messages, from a send to its handler to the messages that this handler sends.

The ids are attributes of the message, so they outlive deliveries, dead letters and redrives. A trace context is added
where opentelemetry-api is installed and a span is current; correlation ids need no library.
"""

from signalbox.tracing.attributes import correlation_id_of, trace_id_of
from signalbox.tracing.context import Handled, current, handling

__all__ = ["Handled", "correlation_id_of", "current", "handling", "trace_id_of"]
