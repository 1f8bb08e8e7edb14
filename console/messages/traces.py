"""The trace and the correlation id of a message, with the address of each."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote as percent_encoded
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from dlq.filters.syntax import quote
from queues.messages.story import Body
from signalbox.tracing import correlation_id_of, trace_id_of


@dataclass(frozen=True)
class Marks:
    """Identifiers that a message shares with other systems; `trace_url` is empty without TRACE_URL_TEMPLATE."""

    trace_id: str | None
    correlation_id: str | None

    @property
    def trace_url(self) -> str:
        template = settings.TRACE_URL_TEMPLATE
        return template.replace("{trace_id}", percent_encoded(self.trace_id, safe="")) if self.trace_id else ""

    @property
    def dead_of_trace_url(self) -> str:
        return _dead_letters(f"trace:{quote(self.trace_id or '')}")

    @property
    def dead_of_correlation_url(self) -> str:
        return _dead_letters(f"attr.correlation_id:{quote(self.correlation_id or '')}")


def marks_of(body: Body | None) -> Marks:
    """Return the identifiers of a message: its own trace id, or the one in the trace context of its attributes."""
    if body is None:
        return Marks(None, None)
    return Marks(body.trace_id or trace_id_of(body.attributes), correlation_id_of(body.attributes))


def _dead_letters(filter_text: str) -> str:
    return f"{reverse('dead_letters')}?{urlencode({'q': filter_text})}"
