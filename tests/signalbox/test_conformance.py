"""One interface: every behaviour of the verbs on every client, in the database and over HTTP, synchronous and not."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from signalbox import (
    DeduplicationConflict,
    InvalidArgument,
    MessageNotFound,
    NotSettled,
    PayloadTooLarge,
    QueueClosed,
    QueueNotFound,
    QuotaExceeded,
)
from signalbox.messages import AckedAndReceived
from signalbox.tracing import handling
from signalbox.verbs import DatabaseVerbs, Verbs
from tests.signalbox.flavours import CLASSES, FLAVOURS, client_of, public

_OF_A_BATCH = {"expires_at": "expires_ats", "max_receives": "max_receives"}


@pytest.fixture(params=FLAVOURS)
def flavour(request):
    return request.param


@pytest.fixture
def address(flavour, request):
    """Arguments for a client of this flavour."""
    if flavour.startswith("database"):
        return (request.getfixturevalue("dsn"),)
    return request.getfixturevalue("api_address")


@pytest.fixture
def verbs(flavour, address):
    with client_of(flavour, *address) as client:
        yield client


@pytest.mark.parametrize("name", FLAVOURS)
def test_every_client_has_the_same_verbs_with_the_same_arguments(name):
    shared = public(Verbs)
    verbs = public(CLASSES[name])
    assert {verb: signature for verb, signature in verbs.items() if verb in shared} == shared
    assert verbs == (public(DatabaseVerbs) if name.startswith("database") else shared)


class TestSending:
    def test_a_message_comes_back_as_it_was_sent(self, verbs, queue):
        payload = {"id": 7, "text": "Größe ☃ \\u0000 </script>", "list": [1.5, None, True, 2**70]}
        message_id = verbs.send(
            queue, payload, attributes={"kind": "order"}, priority=3, group_id="g/ä", trace_id="t", correlation_id="c"
        )
        (message,) = verbs.receive(queue)
        assert message.id == message_id
        assert message.payload == payload
        assert verbs.fetch(message) == payload
        assert message.attributes == {"kind": "order", "correlation_id": "c"}
        assert (message.priority, message.group_id, message.receive_count) == (3, "g/ä", 1)
        assert (message.correlation_id, message.state, message.body) == ("c", None, None)
        assert message.sent_at.tzinfo is UTC
        assert message.deadline - message.sent_at >= timedelta(seconds=30)
        assert 20 < message.lease_seconds <= 30

    @pytest.mark.parametrize("payload", [None, "", 0, False, [], {}, "ü", 1.25])
    def test_any_json_value_is_a_payload(self, verbs, queue, payload):
        verbs.send(queue, payload)
        (message,) = verbs.receive(queue)
        assert message.payload == payload
        assert type(message.payload) is type(payload)

    def test_bytes_come_back_as_they_were_sent(self, verbs, queue):
        every_byte = bytes(range(256))
        verbs.send(queue, every_byte, content_type="image/png", attributes={"kind": "scan"})
        verbs.send_batch(queue, [b"", {"json": 1}], content_types=["text/plain", None])
        (sent,) = verbs.send_each(queue, [(memoryview(every_byte), {})])
        scan, empty, plain, last = verbs.receive(queue, 10)
        assert (scan.payload, scan.content_type, scan.attributes["kind"]) == (every_byte, "image/png", "scan")
        assert (empty.payload, empty.content_type) == (b"", "text/plain")
        assert (plain.payload, plain.content_type) == ({"json": 1}, None)
        assert (last.id, last.payload, last.content_type) == (sent, every_byte, "application/octet-stream")
        for options, payload, field in (
            ({"content_type": "no type"}, b"", "content_type"),
            ({"content_type": "text/plain"}, "text", "content_type"),
            ({"attributes": {"binary_content_type": "text/plain"}}, "not base64!", "payload"),
        ):
            with pytest.raises(InvalidArgument) as refused:
                verbs.send(queue, payload, **options)
            assert refused.value.field == field

    def test_a_send_answers_how_many_wait_in_the_group(self, verbs, make_queue):
        fifo, limited, plain = make_queue(mode="fifo"), make_queue(group_max_in_flight=1), make_queue()
        for queue, waiting in ((fifo, [1, 2, 3]), (limited, [1, 2, 3]), (plain, [None] * 3)):
            sent = [verbs.send_counted(queue, n, group_id="g", max_receives=n or None) for n in range(3)]
            assert [one.group_waiting for one in sent] == waiting
            assert verbs.send_counted(queue, 1, group_id="h").group_waiting == waiting[0]
        (first,) = [message for message in verbs.receive(fifo, 10) if message.group_id == "g"]
        assert verbs.ack(first)
        (second,) = [message for message in verbs.receive(fifo, 10) if message.group_id == "g"]
        assert second.sequence_number > first.sequence_number
        assert verbs.send_counted(fifo, b"x", group_id="g").group_waiting == 2
        with pytest.raises(InvalidArgument) as refused:
            verbs.send_counted(plain, 1, priority=-1)
        assert refused.value.field == "priority"

    def test_a_batch_keeps_order_and_options(self, verbs, queue):
        ids = verbs.send_batch(queue, ["a", "b"], priorities=[0, 9], attributes=[None, {"n": 1}], group_ids=["g", None])
        assert ids == sorted(ids)
        messages = {message.id: message for message in verbs.receive(queue, 10)}
        assert [messages[each].payload for each in ids] == ["a", "b"]
        assert (messages[ids[0]].group_id, messages[ids[1]].group_id) == ("g", None)
        assert (messages[ids[1]].priority, messages[ids[1]].attributes) == (9, {"n": 1})
        assert verbs.send_batch(queue, []) == []

    def test_a_batch_is_sent_whole_or_not_at_all(self, verbs, make_queue):
        queue = make_queue(max_payload_bytes=100)
        with pytest.raises(PayloadTooLarge):
            verbs.send_batch(queue, ["fits", "x" * 200])
        assert verbs.receive(queue, 10) == []

    def test_limits_of_a_message_hold_and_wrong_ones_are_named(self, verbs, make_queue):
        queue = make_queue(max_receives=5, backoff_base_seconds=0)
        gone = verbs.send(queue, 1, expires_at=datetime.now(UTC) + timedelta(seconds=2))
        soon = datetime.now(UTC) + timedelta(seconds=2)
        once, also = verbs.send_batch(queue, [2, 3], max_receives=[1, None], expires_ats=[None, soon])
        with pytest.raises(NotSettled):
            verbs.wait_settled(gone, timeout=2)
        (message,) = verbs.receive(queue, 10)
        assert message.id == once
        assert verbs.nack(message) == "dead"
        assert {verbs.message_outcome(message_id).outcome for message_id in (gone, also)} == {"expired"}
        for arguments, field in (
            ({"expires_at": soon}, "expires_at"),
            ({"expires_at": datetime(2999, 1, 1)}, "expires_at"),  # noqa: DTZ001 - a time without a zone
            ({"max_receives": 1001}, "max_receives"),
        ):
            with pytest.raises(InvalidArgument) as refused:
                verbs.send(queue, 1, **arguments)
            assert refused.value.field == field
            with pytest.raises(InvalidArgument) as refused:
                verbs.send_batch(queue, [0, 1], **{_OF_A_BATCH[name]: [None, arguments[name]] for name in arguments})
            assert refused.value.field == f"{_OF_A_BATCH[field]}[1]"
            (refusal, _) = verbs.send_each(queue, [(1, arguments), (2, {})])
            assert (type(refusal), refusal.field) == (InvalidArgument, field)

    def test_each_of_many_messages_has_limits_of_its_own(self, verbs, make_queue):
        queue = make_queue(max_receives=5, backoff_base_seconds=0)
        later = datetime.now(UTC) + timedelta(seconds=60)
        sent = verbs.send_each(queue, [(1, {"max_receives": 1}), (2, {"expires_at": later}), (3, {})])
        outcomes = {message.id: verbs.nack(message) for message in verbs.receive(queue, 10)}
        assert outcomes == dict(zip(sent, ("dead", "retry", "retry"), strict=True))

    def test_each_message_for_itself(self, verbs, make_queue):
        queue = make_queue(max_payload_bytes=100)
        sent = verbs.send_each(
            queue,
            [
                ("fits", {"priority": 3}),
                ("x" * 200, {}),
                ({1}, {}),
                (4, {"delay_seconds": 10**9}),
                (5, {"attributes": {"n": 5}, "deduplication_id": "five"}),
            ],
        )
        assert [type(one) for one in sent] == [int, PayloadTooLarge, InvalidArgument, InvalidArgument, int]
        assert [sent[2].field, sent[3].field] == ["payload", "delay_seconds"]
        messages = {message.id: message for message in verbs.receive(queue, 10)}
        assert messages.keys() == {sent[0], sent[4]}
        assert (messages[sent[0]].priority, messages[sent[4]].attributes) == (3, {"n": 5})
        assert verbs.send_each(queue, []) == []
        with pytest.raises(QueueNotFound):
            verbs.send_each("nowhere", [(1, {})])

    def test_a_delayed_message_is_not_delivered_yet(self, verbs, queue):
        verbs.send(queue, 1, delay_seconds=600)
        verbs.send_batch(queue, [2], delay_seconds=[600])
        assert verbs.receive(queue) == []

    def test_sent_again_with_its_deduplication_id_it_is_the_first(self, verbs, queue):
        first = verbs.send(queue, {"n": 1}, deduplication_id="key")
        assert verbs.send(queue, {"n": 1}, deduplication_id="key") == first
        assert verbs.send_batch(queue, [{"n": 1}], deduplication_ids=["key"]) == [first]
        assert len(verbs.receive(queue, 10)) == 1

    def test_what_a_handler_sends_has_its_correlation_id(self, verbs, queue):
        verbs.send(queue, 1, correlation_id="the story")
        (message,) = verbs.receive(queue)
        with handling(queue, message):
            verbs.send(queue, 2)
            verbs.send_batch(queue, [3])
        assert [one.correlation_id for one in verbs.receive(queue, 2)] == ["the story"] * 2


class TestReceiving:
    def test_an_empty_queue_gives_nothing(self, verbs, queue):
        assert verbs.receive(queue, 10) == []
        assert verbs.receive(queue, wait_seconds=0.05) == []

    def test_a_lease_lasts_as_long_as_is_asked_for(self, verbs, queue):
        verbs.send_batch(queue, [1, 2, 3])
        messages = verbs.receive(queue, 2, visibility_timeout=600, consumer="me", durable=False)
        assert len(messages) == 2
        assert all(500 < message.lease_seconds <= 600 for message in messages)

    def test_waiting_ends_with_the_first_message(self, verbs, queue, client):
        sending = threading.Timer(0.3, client.send, [queue, "news"])
        sending.start()
        try:
            (message,) = verbs.receive(queue, wait_seconds=200)
        finally:
            sending.join()
        assert message.payload == "news"

    def test_ack_and_receive_does_both_in_one_call(self, verbs, queue):
        verbs.send_batch(queue, [1, 2, 3])
        first, second = verbs.receive(queue, 2)
        verbs.ack(second)

        done = verbs.ack_and_receive([first, second.receipt_handle], queue, 5, consumer="c")

        assert isinstance(done, AckedAndReceived)
        assert done.acked == {first.receipt_handle: True, second.receipt_handle: False}
        (third,) = done.messages
        assert third.payload == 3
        assert verbs.ack_and_receive([third], queue) == ({third.receipt_handle: True}, [])
        assert verbs.ack_and_receive([], queue) == ({}, [])


class TestSettling:
    def test_a_message_is_acked_once(self, verbs, queue):
        verbs.send(queue, 1)
        (message,) = verbs.receive(queue)
        assert verbs.ack(message) is True
        assert verbs.ack(message.receipt_handle) is False
        assert verbs.receive(queue) == []

    def test_a_batch_answers_for_each_handle_of_any_queue(self, verbs, make_queue):
        one, other = make_queue(), make_queue()
        for queue in (one, other, one):
            verbs.send(queue, 1)
        (first, third), (second,) = verbs.receive(one, 2), verbs.receive(other)
        verbs.ack(first)
        handles = [each.receipt_handle for each in (first, second, third)]
        assert verbs.ack_batch(handles) == dict(zip(handles, [False, True, True], strict=True))
        assert verbs.ack_batch([]) == {}

    def test_a_result_is_read_by_who_waits(self, verbs, queue):
        message_id = verbs.send(queue, 1)
        (message,) = verbs.receive(queue)
        assert verbs.message_outcome(message_id).status == "processing"
        assert verbs.ack(message, result={"total": 12.5}) is True
        outcome = verbs.wait_settled(message_id, timeout=120)
        assert (outcome.message_id, outcome.queue, outcome.status) == (message_id, queue, "completed")
        assert (outcome.outcome, outcome.receive_count, outcome.result) == ("acked", 1, {"total": 12.5})
        assert outcome.settled_at > message.sent_at

    def test_a_batch_of_results(self, verbs, queue):
        ids = verbs.send_batch(queue, [1, 2, 3])
        messages = sorted(verbs.receive(queue, 3), key=lambda message: message.id)
        acked = verbs.ack_batch(messages, results=["one", None, {"three": 3}])
        assert list(acked.values()) == [True] * 3
        assert [verbs.message_outcome(one).result for one in ids] == ["one", None, {"three": 3}]

    def test_waiting_for_the_end_has_an_end(self, verbs, queue):
        message_id = verbs.send(queue, 1)
        with pytest.raises(NotSettled) as caught:
            verbs.wait_settled(message_id, timeout=0)
        assert (caught.value.outcome.status, caught.value.outcome.outcome) == ("pending", None)
        assert verbs.message_outcome(10**12) is None
        with pytest.raises(MessageNotFound):
            verbs.wait_settled(10**12)

    def test_nack_returns_the_outcome_of_the_message(self, verbs, make_queue, failures):
        queue = make_queue(max_receives=2)
        message_id = verbs.send(queue, 1)
        (message,) = verbs.receive(queue)
        failure = {"error_class": "E", "error": "bad \x00", "details": "stack"}
        assert verbs.nack(message, delay_seconds=0, state={"page": 2}, **failure) == "retry"
        assert failures(message_id) == [("runtime_error", "E", "bad \\0", "stack")]
        (again,) = verbs.receive(queue)
        assert (again.receive_count, again.state) == (2, {"page": 2})
        assert verbs.nack(message) is None
        assert verbs.nack(again) == "dead"
        assert verbs.nack(again.receipt_handle) is None

    def test_a_deferred_message_comes_again_without_a_failure(self, verbs, make_queue, failures):
        queue = make_queue(max_receives=1)
        message_id = verbs.send(queue, 1)
        (message,) = verbs.receive(queue)
        due_at = verbs.defer(message, 0, state={"page": 2})
        assert due_at is not None
        assert due_at >= message.sent_at
        assert verbs.defer(message, 0) is None
        assert verbs.message_outcome(message_id).status == "pending"
        (again,) = verbs.receive(queue)
        assert (again.id, again.receive_count, again.state) == (message_id, 2, {"page": 2})
        assert failures(message_id) == []
        with pytest.raises(InvalidArgument) as refused:
            verbs.defer(again, 10**9)
        assert refused.value.field == "delay_seconds"
        assert verbs.nack(again) == "dead"

    def test_many_deliveries_fail_together(self, verbs, make_queue, failures):
        one, other = make_queue(), make_queue()
        ids = [verbs.send(queue, 1) for queue in (one, other, one)]
        (first, third), (second,) = verbs.receive(one, 2), verbs.receive(other)
        verbs.ack(first)
        fates = verbs.nack_batch(
            [(first, {}), (second, {"reason": "rejected"}), (third.receipt_handle, {"error": "so", "state": [1]})]
        )
        assert fates == [None, "dead", "retry"]
        assert failures(ids[2])[0][2] == "so"
        assert verbs.nack_batch([]) == []

    def test_a_rejected_message_dies_at_once(self, verbs, queue, dead_letter):
        message_id = verbs.send(queue, 1)
        (message,) = verbs.receive(queue)
        assert verbs.nack(message, reason="rejected") == "dead"
        assert dead_letter(message_id)[0] == "rejected"

    def test_a_lease_is_extended_and_given_back(self, verbs, queue):
        verbs.send(queue, 1)
        (message,) = verbs.receive(queue)
        extended = verbs.change_visibility(message, 600)
        assert extended is not None
        assert extended > message.deadline
        assert verbs.change_visibility(message, 0) is not None
        assert verbs.change_visibility(message, 600) is None
        (again,) = verbs.receive(queue)
        assert again.id == message.id

    def test_many_leases_are_extended_together(self, verbs, queue):
        verbs.send_batch(queue, [1, 2])
        first, second = verbs.receive(queue, 2)
        verbs.ack(first)
        deadlines = verbs.change_visibility_batch([first, second], 900)
        assert list(deadlines) == [first.receipt_handle, second.receipt_handle]
        assert deadlines[first.receipt_handle] is None
        assert deadlines[second.receipt_handle] > second.deadline
        assert verbs.change_visibility_batch([], 1) == {}


class TestQueues:
    def test_made_again_with_equal_settings_it_is_the_same(self, verbs, queue, make_queue):
        name = make_queue() + "-made"
        settings = {"visibility_timeout_seconds": 120, "max_receives": 3, "mode": "fifo", "dedup_scope": "in_flight"}
        made = verbs.create_queue(name, settings)
        assert verbs.create_queue(name, settings) == made == verbs.create_queue(name)
        with pytest.raises(InvalidArgument) as caught:
            verbs.create_queue(name, {"max_receives": 4})
        assert caught.value.field == "max_receives"
        assert verbs.configure_queue(name, {"visibility_timeout_seconds": 240}) == made
        verbs.send(name, 1)
        assert verbs.receive(name)[0].lease_seconds > 200

    def test_they_are_listed_by_name(self, verbs, make_queue):
        name = make_queue(max_receives=7)
        verbs.create_queue(f"{name}-b", {"paused": True})
        verbs.create_queue(f"{name}-a", {"closed": True, "mode": "fifo"})
        found = [one for one in verbs.list_queues(name) if not one.is_dead_letter_queue]
        assert [(one.name, one.state) for one in found] == [
            (name, "active"),
            (f"{name}-a", "closed"),
            (f"{name}-b", "paused"),
        ]
        assert [one.tenant for one in found] == ["default"] * 3
        assert (found[0].settings["max_receives"], found[1].settings["mode"]) == (7, "fifo")
        assert found[0].settings["visibility_timeout_seconds"] == 30
        assert found[0].messages is None
        assert verbs.list_queues("no such") == []

    def test_one_is_described_with_its_numbers(self, verbs, queue, client):
        for _ in range(3):
            client.send(queue, 1)
        client.send(queue, 2, delay_seconds=600)
        first, _ = client.receive(queue, 2)
        client.nack(first, reason="rejected")
        info = verbs.describe_queue(queue)
        assert info.messages == {"ready": 1, "waiting": 0, "scheduled": 1, "leased": 1, "dead": 1}
        assert info.oldest_visible_seconds > 0
        assert info.settings == client.list_queues(queue)[0].settings
        assert verbs.create_queue(queue) == info.id
        assert verbs.describe_queue(f"{queue}-dlq").is_dead_letter_queue
        assert verbs.describe_queue(f"{queue}-dlq").messages["dead"] == 1
        with pytest.raises(QueueNotFound, match="nowhere"):
            verbs.describe_queue("nowhere")

    def test_a_consumer_announces_itself(self, verbs, queue, connection):
        verbs.announce_consumer(queue, "me", {"host": "h", "running": 3})
        (details,) = connection.execute(
            "select details from signalbox.consumer join signalbox.queue using (queue_id)"
            " where name = %s and consumer = 'me'",
            [queue],
        ).fetchone()
        assert details == {"host": "h", "running": 3}


class TestRefusals:
    def test_unknown_queue(self, verbs):
        with pytest.raises(QueueNotFound, match="nowhere"):
            verbs.send("nowhere", 1)
        with pytest.raises(QueueNotFound, match="nowhere"):
            verbs.receive("nowhere")
        with pytest.raises(QueueNotFound):
            verbs.configure_queue("nowhere", {"max_receives": 1})

    def test_a_refusal_leaves_the_client_usable(self, verbs, queue):
        with pytest.raises(QueueNotFound):
            verbs.send_batch("nowhere", [1])
        assert verbs.send(queue, 1) > 0

    @pytest.mark.parametrize(
        ("settings", "field"),
        [
            ({"max_receives": 0}, "max_receives"),
            ({"visibility_timeout_seconds": "x"}, "visibility_timeout_seconds"),
            ({"mode": "lifo"}, "mode"),
            ({"no_such_setting": 1}, "no_such_setting"),
            ({"group_max_in_flight": -1}, "group_max_in_flight"),
        ],
    )
    def test_an_invalid_setting_names_itself(self, verbs, queue, settings, field):
        with pytest.raises(InvalidArgument) as caught:
            verbs.configure_queue(queue, settings)
        assert caught.value.field == field

    @pytest.mark.parametrize(
        ("ask", "field"),
        [
            (lambda verbs, queue: verbs.send(queue, {1}), "payload"),
            (lambda verbs, queue: verbs.send(queue, 1, priority=32768), "priority"),
            (lambda verbs, queue: verbs.send(queue, 1, delay_seconds=10**9), "delay_seconds"),
            (lambda verbs, queue: verbs.send(queue, 1, group_id="x" * 1000), "group_id"),
            (lambda verbs, queue: verbs.send(queue, 1, deduplication_id=""), "deduplication_id"),
            (lambda verbs, queue: verbs.send(queue, 1, attributes={"a": "x" * 20_000}), "attributes"),
            (lambda verbs, queue: verbs.send_batch(queue, [1, {1}]), "payloads[1]"),
            (lambda verbs, queue: verbs.send_batch(queue, [1, 2], priorities=[1]), "priorities"),
            (lambda verbs, queue: verbs.receive(queue, 0), "max_messages"),
            (lambda verbs, queue: verbs.receive(queue, 100_000), "max_messages"),
            (lambda verbs, queue: verbs.receive(queue, visibility_timeout=10**6), "visibility_timeout"),
            (lambda verbs, queue: verbs.receive(queue, wait_seconds=-1), "wait_seconds"),
            (lambda verbs, queue: verbs.ack([7]), "receipt_handles[0]"),
            (lambda verbs, queue: verbs.ack("nonsense"), "receipt_handle"),
            (lambda verbs, queue: verbs.message_outcome(0), "message_id"),
        ],
    )
    def test_what_is_wrong_is_named_as_python_names_it(self, verbs, queue, ask, field):
        with pytest.raises(InvalidArgument) as caught:
            ask(verbs, queue)
        assert caught.value.field == field
        assert str(caught.value).startswith(field.partition("[")[0])

    def test_a_lease_of_no_possible_length(self, verbs, queue):
        verbs.send(queue, 1)
        (message,) = verbs.receive(queue)
        with pytest.raises(InvalidArgument) as caught:
            verbs.change_visibility(message, 10**6)
        assert caught.value.field == "seconds"
        with pytest.raises(InvalidArgument) as caught:
            verbs.nack(message, reason="because")
        assert caught.value.field == "reason"

    def test_a_payload_above_the_queues_limit(self, verbs, make_queue):
        queue = make_queue(max_payload_bytes=1024)
        with pytest.raises(PayloadTooLarge, match="1024"):
            verbs.send(queue, "x" * 2000)

    def test_a_closed_queue(self, verbs, make_queue):
        with pytest.raises(QueueClosed):
            verbs.send(make_queue(closed=True), 1)

    def test_another_body_under_the_same_deduplication_id(self, verbs, queue):
        first = verbs.send(queue, {"n": 1}, deduplication_id="key")
        with pytest.raises(DeduplicationConflict) as caught:
            verbs.send(queue, {"n": 2}, deduplication_id="key")
        assert caught.value.first_message_id == first

    def test_a_quota_says_by_how_much(self, verbs, make_queue):
        queue = make_queue(max_backlog_messages=2)
        verbs.send_batch(queue, [1, 2])
        with pytest.raises(QuotaExceeded) as caught:
            verbs.send(queue, 3)
        refusal = caught.value
        assert (refusal.reason, refusal.scope, refusal.field) == ("backlog", "queue", "max_backlog_messages")
        assert (refusal.limit, refusal.actual) == (2, 3)
        assert refusal.retry_after is not None
        with pytest.raises(QuotaExceeded) as caught:
            verbs.send_batch(queue, [1, 2, 3])
        assert caught.value.retry_after is None


def test_a_closed_client_opens_again(verbs, queue):
    verbs.send(queue, 1)
    verbs.close()
    verbs.close()
    assert verbs.send(queue, 2) > 0


def test_what_one_sends_another_receives(verbs, client, queue):
    """The messages are the same but for their handles, which go back where they came from."""
    client.send(queue, {"a": [1]}, attributes={"k": "v"}, priority=2, group_id="g", delay_seconds=0)
    (message,) = verbs.receive(queue)
    assert verbs.change_visibility(message, 0) is not None
    (again,) = client.receive(queue)
    for name in ("id", "payload", "attributes", "group_id", "priority", "sent_at", "state", "body"):
        assert getattr(again, name) == getattr(message, name)


def test_the_handle_is_text(verbs, queue):
    verbs.send(queue, 1)
    (message,) = verbs.receive(queue)
    assert isinstance(message.receipt_handle, str)
    assert verbs.ack(str(message.receipt_handle)) is True


def test_a_deadline_is_that_of_the_database(verbs, queue, dsn):
    verbs.send(queue, 1)
    (message,) = verbs.receive(queue)
    with psycopg.connect(dsn) as connection:
        (deadline,) = connection.execute(
            "select deadline from signalbox.lease where message_id = %s", [message.id]
        ).fetchone()
    assert message.deadline == deadline


def test_a_subscribed_queue_receives_copies_until_it_is_ended(verbs, make_queue):
    source, target = make_queue(), make_queue()
    number = verbs.subscribe(source, target, filter="payload.kind:refund", delay_seconds=0)
    assert verbs.subscribe(source, target, filter="payload.kind:refund") == number
    verbs.send_batch(source, [{"kind": "refund"}, {"kind": "sale"}])
    assert [message.payload for message in verbs.receive(target, 10)] == [{"kind": "refund"}]
    assert verbs.pause_subscription(source, target)
    assert not verbs.pause_subscription(source, target)
    verbs.send(source, {"kind": "refund"})
    (listed,) = verbs.list_subscriptions(source)
    assert (listed.id, listed.source, listed.target, listed.paused, listed.held) == (number, source, target, True, 1)
    assert number in {one.id for one in verbs.list_subscriptions()}
    with pytest.raises(InvalidArgument):
        verbs.unsubscribe(source, target)
    with pytest.raises(InvalidArgument) as refused:
        verbs.subscribe(target, source)  # a circle
    assert refused.value.field == "target"
    with pytest.raises(QueueNotFound):
        verbs.subscribe(source, "no-such-queue")
    assert verbs.unsubscribe(source, target, discard=True)
    assert not verbs.unsubscribe(source, target)
