"""A redrive leaves a span that is linked to the spans which sent its messages first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from psycopg.types.json import Jsonb

from dlq.redrives import redrives
from queues.dead_letters.ids import newest_id
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive

SENDER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("signalbox.tracing.spans._tracer", lambda: provider.get_tracer("signalbox"))
    yield exporter
    provider.shutdown()


def test_a_redrive_is_linked_to_who_sent_its_messages(scene: DeadLetterScene, spans: InMemorySpanExporter) -> None:
    first, second = scene.add_dead(2)
    attributes = {"traceparent": SENDER, "correlation_id": "order-7"}
    scene.engine.connection.execute(
        "update signalbox.dead_letter set attributes = %s where dead_letter_id = %s", [Jsonb(attributes), first]
    )

    job = create_redrive(scene.filter, newest_id(), actor="ann", reason="partner is back")
    redrives.run_in_foreground(job.pk)

    assert scene.redriven(job.pk) == [first, second]
    (span,) = [one for one in spans.get_finished_spans() if one.name == f"redrive {scene.queue}"]
    assert span.attributes is not None
    assert span.attributes["messaging.destination.name"] == scene.queue
    assert [trace.format_span_id(link.context.span_id) for link in span.links] == ["00f067aa0ba902b7"]
    carried = scene.engine.rows(
        "select attributes from signalbox.message_kept where queue_id = %s and attributes is not null",
        scene.engine.queue_id,
    )
    assert carried == [(attributes,)]
