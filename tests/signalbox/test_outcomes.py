"""State, results and waiting for the end, through both clients and the worker."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from signalbox import (
    AsyncClient,
    Client,
    InvalidArgument,
    MessageNotFound,
    NotSettled,
    OpenTransaction,
)
from signalbox.worker import Retry
from signalbox.worker.handlers.outcomes import DONE, done_with, outcome_of
from tests.signalbox.worker.workers import eventually


class Awaited:
    """The asynchronous client, called like the other."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            async def run() -> Any:
                async with AsyncClient(self._dsn) as client:
                    return await getattr(client, verb)(*arguments, **options)

            return asyncio.run(run())

        return call


@pytest.fixture(params=["sync", "async"])
def either(request: pytest.FixtureRequest, client: Client, dsn: str) -> Any:
    return client if request.param == "sync" else Awaited(dsn)


def test_a_state_reaches_the_next_delivery(either, queue):
    either.send(queue, 1)
    (message,) = either.receive(queue)
    assert message.state is None
    assert either.nack(message, delay_seconds=0, state={"page": [1, "é"]}) == "retry"
    (again,) = either.receive(queue)
    assert again.state == {"page": [1, "é"]}


def test_a_result_is_read_by_who_waits(either, queue):
    message_id = either.send(queue, 1)
    (message,) = either.receive(queue)
    assert either.message_outcome(message_id).status == "processing"
    assert either.ack(message, result={"total": 12.5}) is True
    outcome = either.wait_settled(message_id, timeout=120)
    assert (outcome.message_id, outcome.queue, outcome.status, outcome.outcome) == (
        message_id,
        queue,
        "completed",
        "acked",
    )
    assert outcome.result == {"total": 12.5}
    assert outcome.settled_at > message.sent_at


def test_a_batch_of_results(either, queue):
    ids = either.send_batch(queue, [1, 2, 3])
    messages = either.receive(queue, 3)
    acked = either.ack_batch(messages, results=["one", None, {"three": 3}])
    assert list(acked.values()) == [True] * 3
    assert [either.message_outcome(one).result for one in ids] == ["one", None, {"three": 3}]


@pytest.mark.parametrize(("reason", "ending"), [("rejected", "dead"), (None, "purged")])
def test_other_endings_end_the_wait_too(either, queue, reason, ending):
    message_id = either.send(queue, 1)
    if reason:
        (message,) = either.receive(queue)
        either.nack(message, reason=reason)
    else:
        either.purge(queue)
    assert either.wait_settled(message_id, timeout=120).outcome == ending


def test_a_wait_ends_when_the_message_is_acked(either, queue, dsn):
    message_id = either.send(queue, 1)
    seen: list[Any] = []
    waiting = threading.Thread(target=lambda: seen.append(either.wait_settled(message_id, timeout=120)))
    waiting.start()
    with Client(dsn) as other:
        (message,) = other.receive(queue)
        other.ack(message, result="done")
    waiting.join(120)
    assert [outcome.result for outcome in seen] == ["done"]


def test_time_runs_out_with_where_it_stands(either, queue):
    message_id = either.send(queue, 1)
    with pytest.raises(NotSettled) as caught:
        either.wait_settled(message_id, timeout=0.02)
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.outcome.status == "pending"
    assert str(caught.value) == f"Message {message_id} was not settled within 0.02 seconds: it is pending."


def test_an_unknown_message_is_an_error_at_once(either):
    with pytest.raises(MessageNotFound):
        either.wait_settled(999_999_999_999)
    assert either.message_outcome(999_999_999_999) is None


def test_waiting_inside_a_transaction_is_refused(connection, queue):
    joined = Client(connection)
    message_id = joined.send(queue, 1)
    with pytest.raises(OpenTransaction):
        joined.wait_settled(message_id)
    assert joined.message_outcome(message_id).status == "pending"


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda client: client.nack("h", state="x" * 16_384), "state"),
        (lambda client: client.nack("h", state={1, 2}), "state"),
        (lambda client: client.ack("h", result="x" * 65_536), "results[0]"),
        (lambda client: client.ack_batch(["h"], results=[1, 2]), "results"),
        (lambda client: client.wait_settled(0), "message_id"),
        (lambda client: client.wait_settled("7"), "message_id"),
        (lambda client: client.wait_settled(7, timeout=-1), "timeout"),
    ],
)
def test_what_is_wrong_is_named_before_it_reaches_the_wire(either, call, field):
    with pytest.raises(InvalidArgument) as caught:
        call(either)
    assert caught.value.field == field


def test_both_clients_take_the_same():
    for verb in ("ack", "ack_batch", "nack", "message_outcome", "wait_settled"):
        assert inspect.signature(getattr(Client, verb)) == inspect.signature(getattr(AsyncClient, verb))


class TestTheWorker:
    def test_a_retry_hands_its_state_on(self, start_worker, queue, client, notes):
        message_id = client.send(queue, notes.payload(steps=3))
        start_worker(queue, "go_step_by_step", keep_results=True)
        assert client.wait_settled(message_id, timeout=120).result == {"steps": [1, 2, 3]}
        assert len(notes.said("ran")) == 3

    @pytest.mark.parametrize("handler", ["answer", "answer_async"])
    def test_results_are_kept_when_asked_for(self, start_worker, queue, client, notes, handler):
        ids = client.send_batch(queue, [notes.payload(answer=answer) for answer in ({"n": 1}, None, "x" * 70_000)])
        worker = start_worker(queue, handler, keep_results=True)
        assert [client.wait_settled(one, timeout=120).result for one in ids] == [{"n": 1}, None, None]
        eventually(
            lambda: "The return value of the handler is not kept: result is 70002 bytes" in worker.log.read_text()
        )

    def test_they_are_not_unless_asked_for(self, start_worker, queue, client, notes):
        message_id = client.send(queue, notes.payload(answer={"n": 1}))
        start_worker(queue, "answer")
        assert client.wait_settled(message_id, timeout=120).result is None

    def test_one_result_that_is_refused_does_not_undo_the_others(self, start_worker, queue, client, notes):
        """A number that PostgreSQL writes out in full is longer there than the worker could know."""
        ids = client.send_batch(queue, [notes.payload(answer=answer) for answer in ([1e300] * 300, "small")])
        start_worker(queue, "answer", keep_results=True, concurrency=2, ack_delay=1)
        assert [client.wait_settled(one, timeout=120).outcome for one in ids] == ["acked", "acked"]
        assert len(notes.said("ran")) == 2


def test_a_retry_checks_its_state():
    with pytest.raises(InvalidArgument):
        Retry("later", state="x" * 16_384)
    with pytest.raises(InvalidArgument):
        Retry("later", state=object())
    assert outcome_of(Retry("later", state=[1])).state == [1]


def test_what_is_not_json_is_done_without_a_result():
    assert done_with(object()) is DONE
    assert done_with(None) is DONE
    assert done_with([1]).result == [1]


def test_a_connection_that_would_stay_open_is_refused(dsn):
    with psycopg.connect(dsn) as connection, pytest.raises(OpenTransaction):
        Client(connection).wait_settled(1)
