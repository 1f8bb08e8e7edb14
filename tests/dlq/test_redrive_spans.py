"""A redrive leaves a span that is linked to the spans which sent its messages first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from psycopg.types.json import Jsonb

from dlq import redrives
from dlq.selecting import newest_id
from signalbox.tracing import opentelemetry_spans
from tests.dlq.graveyards import Graveyard

SENDER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(opentelemetry_spans, "_tracer", lambda: provider.get_tracer("signalbox"))
    yield exporter
    provider.shutdown()


def test_a_redrive_is_linked_to_who_sent_its_messages(graveyard: Graveyard, spans: InMemorySpanExporter) -> None:
    first, second = graveyard.bury(2)
    attributes = {"traceparent": SENDER, "correlation_id": "order-7"}
    graveyard.engine.connection.execute(
        "update signalbox.dead_letter set attributes = %s where dead_letter_id = %s", [Jsonb(attributes), first]
    )

    job = redrives.create(graveyard.filter, newest_id(), actor="ann", reason="partner is back")
    redrives.run_in_foreground(job.pk)

    assert graveyard.redriven(job.pk) == [first, second]
    (span,) = [one for one in spans.get_finished_spans() if one.name == f"redrive {graveyard.queue}"]
    assert span.attributes is not None
    assert span.attributes["messaging.destination.name"] == graveyard.queue
    assert [trace.format_span_id(link.context.span_id) for link in span.links] == ["00f067aa0ba902b7"]
    carried = graveyard.engine.rows(
        "select attributes from signalbox.message_kept where queue_id = %s and attributes is not null",
        graveyard.engine.queue_id,
    )
    assert carried == [(attributes,)]
