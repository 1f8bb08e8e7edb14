"""Trace and correlation ids travel with messages; spans report outcomes in OpenTelemetry's terms."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from signalbox import AsyncClient, Client, InvalidArgument, Sender
from signalbox.tracing import Handled, correlation_id_of, current, handling, trace_id_of
from signalbox.worker.processes.runners import AsyncRunner, ThreadRunner

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Every span that ends, kept in memory; the provider is this test's own."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("signalbox.tracing.spans._tracer", lambda: provider.get_tracer("signalbox"))
    monkeypatch.setattr(exporter, "tracer", provider.get_tracer("application"), raising=False)
    yield exporter
    provider.shutdown()


def sending(spans):
    """A span of the application, under way."""
    return spans.tracer.start_as_current_span("checkout")


def hex_of(span) -> str:
    return trace.format_trace_id(span.get_span_context().trace_id)


def ended(spans, name):
    (span,) = [span for span in spans.get_finished_spans() if span.name == name]
    return span


class TestSending:
    def test_the_span_under_way_goes_along(self, client, queue, spans, dsn):
        with sending(spans) as span:
            message_id = client.send(queue, {"n": 1}, attributes={"region": "eu"})
        (message,) = client.receive(queue)
        assert message.trace_id == hex_of(span)
        assert message.attributes["region"] == "eu"
        with psycopg.connect(dsn) as connection:
            row = connection.execute(
                "select trace_id from signalbox.message where message_id = %s", [message_id]
            ).fetchone()
        assert row == (hex_of(span),)

    def test_a_batch_and_a_sender_carry_it_too(self, client, queue, spans):
        with sending(spans) as span:
            client.send_batch(queue, [1, 2], correlation_ids=["a", None])
        with sending(spans) as other, Sender(client) as sender:
            sent = sender.send(queue, 3)
        sent.result()
        messages = sorted(client.receive(queue, 3), key=lambda one: one.payload)
        assert [one.trace_id for one in messages] == [hex_of(span), hex_of(span), hex_of(other)]
        assert [one.correlation_id for one in messages] == ["a", None, None]

    def test_without_a_span_nothing_is_added(self, client, queue, spans):
        client.send(queue, {"n": 1})
        (message,) = client.receive(queue)
        assert (message.attributes, message.trace_id, message.correlation_id) == ({}, None, None)

    def test_what_the_sender_says_itself_stays(self, client, queue, spans):
        with sending(spans):
            client.send(queue, 1, attributes={"traceparent": PARENT}, trace_id="of-its-own", correlation_id="order-7")
        (message,) = client.receive(queue)
        assert message.attributes == {"traceparent": PARENT, "correlation_id": "order-7"}

    def test_attributes_that_leave_no_room_go_alone(self, client, queue, spans):
        full = {"a": "x" * 16_370}
        with sending(spans):
            client.send(queue, 1, attributes=full)
        (message,) = client.receive(queue)
        assert message.attributes == full

    @pytest.mark.parametrize("value", ["", "x" * 201, 7])
    def test_a_correlation_id_that_cannot_be_is_refused_by_name(self, client, queue, value):
        with pytest.raises(InvalidArgument, match="correlation_id") as refusal:
            client.send(queue, 1, correlation_id=value)
        assert refusal.value.field == "correlation_id"

    def test_the_same_request_from_another_span_is_the_same_request(self, client, make_queue, spans):
        for settings in ({}, {"dedup_scope": "in_flight"}):
            queue = make_queue(**settings)
            ids = set()
            for correlation_id in ("a", "b"):
                with sending(spans):
                    ids.add(client.send(queue, {"n": 1}, deduplication_id="once", correlation_id=correlation_id))
            ids.add(client.send(queue, {"n": 1}, deduplication_id="once"))
            assert len(ids) == 1


class TestHandling:
    def test_a_span_of_the_consumer_belongs_to_the_senders_trace_and_is_linked(self, client, queue, spans):
        with sending(spans) as span:
            message_id = client.send(queue, {"n": 1}, correlation_id="order-7")
        (message,) = client.receive(queue)
        with handling(queue, message):
            pass
        handled = ended(spans, f"process {queue}")
        assert handled.kind is SpanKind.CONSUMER
        assert handled.context.trace_id == span.get_span_context().trace_id
        assert handled.parent.span_id == span.get_span_context().span_id
        assert [link.context.span_id for link in handled.links] == [span.get_span_context().span_id]
        assert dict(handled.attributes) == {
            "messaging.system": "signalbox",
            "messaging.destination.name": queue,
            "messaging.operation.name": "process",
            "messaging.operation.type": "process",
            "messaging.message.id": str(message_id),
            "messaging.message.conversation_id": "order-7",
            "signalbox.message.receive_count": 1,
            "signalbox.message.priority": 0,
        }
        assert handled.status.status_code is StatusCode.UNSET

    def test_a_receive_counts_its_batch_and_links_to_every_sender(self, client, queue, spans):
        senders = set()
        for number in range(3):
            with sending(spans) as span:
                client.send(queue, number)
                senders.add(span.get_span_context().span_id)
        client.receive(queue, 10)
        client.receive(queue, 10)
        received = ended(spans, f"receive {queue}")
        assert received.attributes["messaging.batch.message_count"] == 3
        assert received.attributes["messaging.operation.type"] == "receive"
        assert {link.context.span_id for link in received.links} == senders

    def test_an_error_is_the_status_by_its_class_alone(self, client, queue, spans):
        client.send(queue, {"n": 1})
        (message,) = client.receive(queue)
        with pytest.raises(KeyError), handling(queue, message):
            raise KeyError("card 4111")
        handled = ended(spans, f"process {queue}")
        assert (handled.status.status_code, handled.status.description) == (StatusCode.ERROR, "KeyError")
        assert handled.attributes["error.type"] == "KeyError"
        assert handled.events == ()
        assert "4111" not in handled.to_json()

    def test_what_is_sent_within_inherits(self, client, queue, make_queue, spans):
        further = make_queue()
        with sending(spans) as span:
            client.send(queue, 1, correlation_id="order-7")
        (message,) = client.receive(queue)
        with handling(queue, message):
            assert current() == Handled(queue, message.id, 1, hex_of(span), "order-7")
            client.send(further, 2)
            client.send_batch(further, [3], correlation_ids=["another"])
        assert current() is None
        sent = sorted(client.receive(further, 2), key=lambda one: one.payload)
        assert [one.correlation_id for one in sent] == ["order-7", "another"]
        assert {one.trace_id for one in sent} == {hex_of(span)}

    def test_workers_threads_and_tasks_do_it_for_their_handlers(self, client, queue, dsn, spans):
        client.send(queue, {"n": 1}, correlation_id="order-7")
        (message,) = client.receive(queue)
        seen = []
        threads = ThreadRunner(lambda _: seen.append(current()), lambda _: None, 1, queue_name=queue)
        threads.begin(1, message)
        threads.leave()
        threads.run()

        async def handler(_):
            seen.append(current())
            async with AsyncClient(dsn) as own:
                await own.send(queue, {"n": 2})

        answered = []

        def answer(frame):
            answered.append(frame)
            tasks.leave()

        tasks = AsyncRunner(handler, answer, queue_name=queue)
        tasks.begin(2, message)
        tasks.run()
        assert answered[0]["outcome"]["kind"] == "done"
        assert [one.correlation_id for one in seen] == ["order-7", "order-7"]
        (sent,) = client.receive(queue)
        assert sent.correlation_id == "order-7"
        assert len([one for one in spans.get_finished_spans() if one.name == f"process {queue}"]) == 2

    def test_tasks_at_once_do_not_mix_their_stories(self, client, queue, spans):
        client.send_batch(queue, [0, 1], correlation_ids=["zero", "one"])
        messages = client.receive(queue, 2)

        async def handle(message, mine, others):
            with handling(queue, message):
                mine.set()
                await others.wait()
                return current().correlation_id == message.correlation_id

        async def both():
            first, second = asyncio.Event(), asyncio.Event()
            return await asyncio.gather(handle(messages[0], first, second), handle(messages[1], second, first))

        assert asyncio.run(both()) == [True, True]


class TestDeath:
    def test_a_dead_letter_keeps_it_and_so_does_a_redrive(self, client, queue, spans, dsn):
        with sending(spans) as span:
            message_id = client.send(queue, 1, correlation_id="order-7")
        (message,) = client.receive(queue)
        client.nack(message, reason="rejected")
        with psycopg.connect(dsn) as connection:
            letter, attributes, trace_id = connection.execute(
                "select dead_letter_id, attributes, trace_id from signalbox.dead_letter where message_id = %s",
                [message_id],
            ).fetchone()
            connection.execute("select * from signalbox.redrive(array[%s::bigint])", [letter])
        assert (trace_id_of(attributes), correlation_id_of(attributes), trace_id) == (
            hex_of(span),
            "order-7",
            hex_of(span),
        )
        (again,) = client.receive(queue)
        assert (again.id, again.trace_id, again.correlation_id) == (message_id, hex_of(span), "order-7")


@pytest.mark.parametrize(
    "traceparent",
    [
        "",
        "00",
        PARENT.upper(),
        PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32),
        "<b>",
        7,
        None,
        PARENT + "\n",
    ],
)
def test_a_malformed_context_is_none(traceparent):
    assert trace_id_of({"traceparent": traceparent}) is None
    assert trace_id_of({}) is trace_id_of(None) is None


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
from signalbox import Client
from signalbox.tracing import current, handling, spans
client = Client(sys.argv[1])
client.send(sys.argv[2], {"n": 1}, correlation_id="order-7")
(message,) = client.receive(sys.argv[2])
assert not spans.installed()
assert dict(message.attributes) == {"correlation_id": "order-7"}, message.attributes
with handling(sys.argv[2], message):
    assert current().correlation_id == "order-7"
    client.send(sys.argv[2], {"n": 2})
client.ack(message)
(message,) = client.receive(sys.argv[2])
assert dict(message.attributes) == {"correlation_id": "order-7"}, message.attributes
client.send(sys.argv[2], {"n": 3})
assert [one for one in sys.modules if one.startswith("opentelemetry") and sys.modules[one]] == []
print("as usual")
"""


def test_without_opentelemetry_nothing_changes(dsn, queue, client):
    done = subprocess.run([sys.executable, "-c", WITHOUT, dsn, queue], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("as usual\n", "")
    (plain,) = Client(dsn).receive(queue)
    assert (plain.payload, plain.attributes) == ({"n": 3}, {})
