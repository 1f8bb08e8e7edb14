"""HTTP client without an answer: it repeats where that is safe, and reports what is unknown."""

from __future__ import annotations

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from signalbox import InvalidArgument, QueueNotFound, QuotaExceeded, Sender, SignalboxError
from signalbox.connections.reconnect import Backoff
from signalbox.http import (
    AsyncHttpClient,
    Forbidden,
    HttpClient,
    OutcomeUnknown,
    RateLimited,
    ServerUnavailable,
    Unauthorized,
)
from tests.signalbox.flavours import client_of

HANDLE = "orders/1.2.3"


class Script:
    """Server that answers or fails as scripted, one request after the other; the last answer repeats."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request):
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, content=answer.content, headers=answer.headers)

    @property
    def keys(self):
        return [request.headers.get("Idempotency-Key") for request in self.requests]

    @property
    def documents(self):
        return [json.loads(request.content) for request in self.requests]


def ok(**document):
    return httpx.Response(200, json=document)


def problem(status, slug, headers=None, **members):
    document = {"type": f"/problems/{slug}", "title": slug, "status": status, "detail": f"it is {slug}", **members}
    return httpx.Response(
        status, json=document, headers={"Content-Type": "application/problem+json", **(headers or {})}
    )


SENT = ok(messageId="msg_7", sequence=7)
AWAY = problem(503, "database-away", {"Retry-After": "0"})
DELIVERY = {
    "sequence": 1,
    "receiptHandle": "1.2.3",
    "receiveCount": 1,
    "body": None,
    "attributes": None,
    "messageGroupId": None,
    "priority": 0,
    "sentAt": "2026-01-01T00:00:00Z",
    "deadline": "2026-01-01T00:00:30Z",
    "leaseSeconds": 30.0,
    "state": None,
}
RESET = httpx.ReadError("reset")
REFUSED = httpx.ConnectError("refused")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(Backoff, "pause", lambda self: 0.0)


@pytest.fixture(params=["http", "http async"])
def client_over(request):
    """A client of either kind over a script."""
    opened = []

    def make(script, **options):
        context = client_of(
            request.param, "https://example.test/", "the-key", transport=httpx.MockTransport(script), **options
        )
        opened.append(context)
        return context.__enter__()

    yield make
    for context in opened:
        context.__exit__(None, None, None)


class TestSends:
    @pytest.mark.parametrize("lost", [RESET, httpx.ReadTimeout("slow"), AWAY, httpx.Response(502), REFUSED])
    def test_a_lost_answer_is_asked_for_again_under_the_same_key(self, client_over, lost):
        script = Script(lost, SENT)
        assert client_over(script).send("orders", 1) == 7
        first, second = script.keys
        assert first is not None
        assert first == second
        assert script.documents[0] == script.documents[1] == {"body": 1}

    def test_every_send_has_a_key_of_its_own(self, client_over):
        script = Script(SENT)
        client = client_over(script)
        client.send("orders", 1)
        client.send("orders", 1)
        assert len(set(script.keys)) == 2

    def test_a_batch_is_asked_for_again_too(self, client_over):
        accepted = {"status": "accepted", "messageId": "msg_7", "sequence": 7, "clientMessageId": "0"}
        script = Script(RESET, ok(results=[accepted]))
        assert client_over(script).send_batch("orders", ["a"]) == [7]
        assert script.keys[0] == script.keys[1]
        assert script.documents[0] == {"atomic": True, "messages": [{"clientMessageId": "0", "body": "a"}]}

    def test_while_the_first_is_under_way_the_second_waits(self, client_over):
        script = Script(RESET, problem(409, "request-in-progress"), SENT)
        assert client_over(script).send("orders", 1) == 7
        assert len(set(script.keys)) == 1

    def test_without_retries_there_is_neither_key_nor_second_attempt(self, client_over):
        script = Script(RESET, SENT)
        with pytest.raises(ServerUnavailable, match="reset"):
            client_over(script, retry_seconds=0).send("orders", 1)
        assert script.keys == [None]

    def test_it_is_not_asked_for_ever(self, client_over, monkeypatch):
        monkeypatch.setattr(Backoff, "pause", lambda self: 600.0)
        script = Script(RESET)
        with pytest.raises(ServerUnavailable):
            client_over(script, retry_seconds=30).send("orders", 1)
        assert len(script.requests) == 1

    @pytest.mark.parametrize(
        "words",
        [
            {"status": "error", "message": "no upstream"},
            {"status": "Failure", "errors": ["no upstream"]},
            {"errors": {"upstream": "none"}},
            {"type": "/problems/quota-exceeded", "limit": "many"},
        ],
    )
    def test_a_proxys_refusal_is_recognised_by_its_status(self, client_over, words):
        client = client_over(Script(httpx.Response(503, json=words)), retry_seconds=0)
        with pytest.raises(ServerUnavailable):
            client.send("orders", 1)
        client = client_over(Script(httpx.Response(400, json=words)), retry_seconds=0)
        with pytest.raises(SignalboxError):
            client.send("orders", 1)

    def test_an_error_on_the_servers_side_is_not_asked_again(self, client_over):
        script = Script(problem(500, "internal-error"))
        with pytest.raises(ServerUnavailable, match="internal-error"):
            client_over(script).send("orders", 1)
        assert len(script.requests) == 1


class TestSettlements:
    def test_a_second_ack_of_ones_own_that_comes_too_late_is_reported(self, client_over):
        script = Script(RESET, ok(results=[{"receiptHandle": "1.2.3", "status": "lost"}]))
        with pytest.raises(OutcomeUnknown) as caught:
            client_over(script).ack(HANDLE)
        assert caught.value.answers == {HANDLE: False}

    def test_a_second_ack_that_finds_the_lease_held_is_plain(self, client_over):
        script = Script(RESET, ok(results=[{"receiptHandle": "1.2.3", "status": "acked"}]))
        assert client_over(script).ack(HANDLE) is True

    def test_a_lease_that_was_lost_before_a_first_answer_is_plain_too(self, client_over):
        script = Script(REFUSED, ok(results=[{"receiptHandle": "1.2.3", "status": "lost"}]))
        assert client_over(script).ack(HANDLE) is False

    def test_a_batch_tells_what_is_certain(self, client_over):
        script = Script(AWAY, ok(results=[{"status": "acked"}, {"status": "lost"}]))
        with pytest.raises(OutcomeUnknown) as caught:
            client_over(script).ack_batch([HANDLE, "orders/1.2.4"])
        assert caught.value.answers == {HANDLE: True, "orders/1.2.4": False}

    def test_nack_and_giving_back_are_reported_alike(self, client_over):
        lost = ok(results=[{"status": "lost"}])
        with pytest.raises(OutcomeUnknown):
            client_over(Script(RESET, lost)).nack(HANDLE)
        with pytest.raises(OutcomeUnknown):
            client_over(Script(RESET, lost)).change_visibility(HANDLE, 0)

    def test_an_extension_cannot_have_ended_the_lease(self, client_over):
        script = Script(RESET, ok(results=[{"status": "lost"}]))
        assert client_over(script).change_visibility(HANDLE, 60) is None

    def test_ack_and_receive_is_not_repeated_when_it_may_have_received(self, client_over):
        script = Script(RESET)
        with pytest.raises(ServerUnavailable):
            client_over(script).ack_and_receive([HANDLE], "orders")
        assert len(script.requests) == 1

    def test_ack_and_receive_is_repeated_when_no_server_received_it(self, client_over):
        script = Script(REFUSED, ok(results=[{"status": "acked"}], messages=[]))
        assert client_over(script).ack_and_receive([HANDLE], "orders") == ({HANDLE: True}, [])

    def test_handles_of_another_queue_are_refused(self, client_over):
        with pytest.raises(InvalidArgument) as caught:
            client_over(Script(SENT)).ack_and_receive([HANDLE], "other")
        assert caught.value.field == "receipts"


class TestReceiving:
    def test_a_lost_answer_is_asked_for_again(self, client_over):
        assert client_over(Script(RESET, ok(messages=[]))).receive("orders") == []

    def test_a_long_wait_is_several_requests(self, client_over):
        script = Script(ok(messages=[]))
        assert client_over(script).receive("orders", wait_seconds=0.05) == []
        assert script.documents[0] == {"maxMessages": 1, "waitSeconds": 0.05}
        assert all(one["waitSeconds"] <= 20 for one in script.documents)

    def test_the_answer_may_take_as_long_as_the_wait_and_then_some(self, client_over):
        waits = []

        def answer(request):
            waits.append((request.extensions["timeout"]["read"], json.loads(request.content)["waitSeconds"]))
            return httpx.Response(200, json={"messages": [DELIVERY]})

        (message,) = client_over(answer, timeout=7).receive("orders", wait_seconds=100)
        assert waits == [(27, 20)]
        assert message.receipt_handle == "orders/1.2.3"
        assert message.attributes == {}


class TestLimitsOfTheKey:
    @pytest.mark.parametrize("slug", ["rate-exceeded", "too-many-connections"])
    def test_they_are_waited_for(self, client_over, slug):
        script = Script(problem(429, slug, {"Retry-After": "0"}), SENT)
        assert client_over(script).send("orders", 1) == 7

    def test_a_retry_beyond_the_time_limit_raises(self, client_over):
        script = Script(problem(429, "rate-exceeded", {"Retry-After": "3600"}, retryAfter=3600))
        with pytest.raises(RateLimited) as caught:
            client_over(script, retry_seconds=60).send("orders", 1)
        assert caught.value.retry_after == 3600

    def test_a_quota_of_the_queue_is_the_callers_to_know_at_once(self, client_over):
        script = Script(
            problem(
                429,
                "quota-exceeded",
                {"Retry-After": "1"},
                reason="rate",
                scope="tenant",
                limit=5.0,
                actual=6.0,
                retryAfter=0.2,
                limitName="publishRatePerSecond",
            )
        )
        with pytest.raises(QuotaExceeded) as caught:
            client_over(script).send("orders", 1)
        assert len(script.requests) == 1
        assert (caught.value.retry_after, caught.value.field) == (0.2, "publish_rate_per_second")
        assert caught.value.scope == "tenant"


class TestProblems:
    @pytest.mark.parametrize(
        ("status", "slug", "kind"),
        [
            (401, "unauthorized", Unauthorized),
            (403, "scope-lacking", Forbidden),
            (404, "queue-not-found", QueueNotFound),
            (403, "what-nobody-knows-yet", Forbidden),
            (418, "teapot", SignalboxError),
        ],
    )
    def test_they_are_errors(self, client_over, status, slug, kind):
        with pytest.raises(kind, match=slug):
            client_over(Script(problem(status, slug))).send("orders", 1)

    def test_an_address_without_a_signalbox_is_no_missing_queue(self, client_over):
        with pytest.raises(SignalboxError, match="404") as caught:
            client_over(Script(httpx.Response(404, text="<h1>Not Found</h1>"))).send("orders", 1)
        assert not isinstance(caught.value, QueueNotFound)

    def test_what_is_not_json_is_no_answer(self, client_over):
        with pytest.raises(ServerUnavailable, match="not JSON"):
            client_over(Script(httpx.Response(200, text="<h1>Welcome</h1>"))).send("orders", 1)

    def test_what_is_no_document_of_ours_is_no_answer(self, client_over):
        with pytest.raises(ServerUnavailable, match="an unknown document"):
            client_over(Script(httpx.Response(200, json=["hello"]))).send("orders", 1)

    @pytest.mark.parametrize(
        ("field", "argument"),
        [
            ("messages[3].delaySeconds", "delay_seconds[3]"),
            ("messages[0].body", "payloads[0]"),
            ("messages[1].attributes.priority", "priorities[1]"),
            ("messages[2]", "payloads[2]"),
            ("messages", "payloads"),
        ],
    )
    def test_fields_of_a_batch_are_its_columns(self, client_over, field, argument):
        fault = {"field": field, "detail": f"{field} is wrong"}
        with pytest.raises(InvalidArgument) as caught:
            client_over(Script(problem(422, "invalid-argument", errors=[fault]))).send_batch("orders", [1])
        assert caught.value.field == argument
        assert str(caught.value) == f"{argument} is wrong"


class TestTheClient:
    def test_every_request_has_the_key_and_says_who_asks(self, client_over):
        script = Script(SENT)
        client_over(script, headers={"X-Team": "shop"}).send("ord ers/x", {"a": "ü"})
        (request,) = script.requests
        assert request.headers["Authorization"] == "Bearer the-key"
        assert request.headers["User-Agent"].startswith("signalbox/")
        assert request.headers["X-Team"] == "shop"
        assert request.headers["Content-Type"] == "application/json"
        assert str(request.url) == "https://example.test/v1/queues/ord%20ers%2Fx/messages"
        assert request.content == '{"body":{"a":"ü"}}'.encode()

    def test_priority_travels_among_the_attributes(self, client_over):
        script = Script(SENT)
        client = client_over(script)
        client.send("orders", 1, priority=9, attributes={"kind": "k"})
        assert script.documents == [{"body": 1, "attributes": {"kind": "k", "priority": 9}}]
        with pytest.raises(InvalidArgument) as caught:
            client.send("orders", 1, attributes={"priority": "mine"})
        assert caught.value.field == "attributes"

    def test_it_does_not_show_its_key(self, client_over):
        client = client_over(Script(SENT))
        assert "the-key" not in repr(getattr(client, "client", client))

    @pytest.mark.parametrize(
        ("options", "field"),
        [
            ({"url": "example.test"}, "url"),
            ({"url": "ftp://example.test"}, "url"),
            ({"url": "https://"}, "url"),
            ({"api_key": "line\nbreak"}, "api_key"),
            ({"timeout": 0}, "timeout"),
            ({"retry_seconds": -1}, "retry_seconds"),
        ],
    )
    def test_what_it_cannot_work_with_is_named(self, client_over, options, field):
        with pytest.raises(InvalidArgument) as caught:
            HttpClient(**{"url": "https://example.test", **options})
        assert caught.value.field == field


def test_a_forked_child_has_connections_of_its_own():
    script = Script(SENT)
    with client_of("http", "https://example.test", "k", transport=httpx.MockTransport(script)) as client:
        client.send("orders", 1)
        pool = client._connections.open()
        child = os.fork()
        if child == 0:
            os._exit(0 if client._connections.open() is not pool and client.send("orders", 2) == 7 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert client._connections.open() is pool


def test_a_client_outlives_its_event_loop():
    script = Script(SENT)
    client = AsyncHttpClient("https://example.test", "k", transport=httpx.MockTransport(script))
    for number in range(2):
        assert asyncio.run(client.send("orders", number)) == 7
    asyncio.run(client.close())
    assert len(script.requests) == 2


def test_threads_share_a_client():
    transport = httpx.MockTransport(Script(SENT))
    with (
        client_of("http", "https://example.test", "k", transport=transport) as client,
        ThreadPoolExecutor(8) as threads,
    ):
        assert list(threads.map(lambda number: client.send("orders", number), range(40))) == [7] * 40


def test_a_sender_is_for_the_database():
    with (
        client_of("http", "https://example.test", transport=httpx.MockTransport(Script(SENT))) as client,
        pytest.raises(InvalidArgument, match="send_each"),
    ):
        Sender(client)
