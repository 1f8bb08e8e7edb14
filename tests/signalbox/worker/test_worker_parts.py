"""The parts of a worker that need neither a database nor a process."""

from __future__ import annotations

import asyncio
import functools
import sys
from datetime import UTC, datetime

import psycopg
import pytest

from signalbox import InvalidArgument, Message
from signalbox.connections.reconnect import Backoff
from signalbox.worker import Defer, Reject, Retry, Worker
from signalbox.worker.command import main
from signalbox.worker.handlers.naming import is_async, load, name_of
from signalbox.worker.handlers.outcomes import MAX_DETAILS_BYTES, bounded, outcome_of
from signalbox.worker.outages import persist
from tests.signalbox.worker import handlers


class TestNaming:
    def test_a_function_is_named_by_its_module(self):
        name = name_of(handlers.record)
        assert name == "tests.signalbox.worker.handlers:record"
        assert load(name) is handlers.record
        assert name_of("some.module:function") == "some.module:function"

    @pytest.mark.parametrize("handler", [lambda message: None, functools.partial(print), "no_colon", ":name", "m:"])
    def test_what_a_child_could_not_import_is_refused(self, handler):
        with pytest.raises(InvalidArgument, match="handler must be"):
            name_of(handler)

    def test_a_file_is_loaded_under_a_name_of_its_own(self, tmp_path, monkeypatch):
        script = tmp_path / "handle_orders.py"
        script.write_text("from json import dumps\ndef handle(message): pass\nassert __name__ != '__main__'\n")
        monkeypatch.setattr(sys, "path", list(sys.path))
        assert load(f"{script}:handle").__module__ == "handle_orders"
        monkeypatch.delitem(sys.modules, "handle_orders")

    def test_async_functions_and_objects_are_distinguished(self):
        class Callable:
            async def __call__(self, message):
                pass

        assert is_async(handlers.record_async)
        assert is_async(Callable())
        assert not is_async(handlers.record)


class TestOutcomes:
    def test_an_exception_is_recorded_with_class_message_and_stack(self):
        outcome = outcome_of(raised(psycopg.OperationalError("no route")))
        assert (outcome.kind, outcome.error_class) == ("failed", "psycopg.OperationalError")
        assert outcome.error == "no route"
        assert "OperationalError: no route" in outcome.details

    def test_verdicts(self):
        assert outcome_of(Reject("never")).kind == "rejected"
        outcome = outcome_of(Retry("later", delay=7))
        assert (outcome.kind, outcome.delay_seconds, outcome.error) == ("retry", 7, "later")
        assert outcome.error_class == "signalbox.worker.Retry"

    def test_a_deferral_is_no_failure(self):
        outcome = outcome_of(Defer(60, state={"page": 2}))
        assert (outcome.kind, outcome.delay_seconds, outcome.state) == ("deferred", 60, {"page": 2})
        assert outcome.error_class is None
        with pytest.raises(InvalidArgument):
            Defer(-1)

    def test_a_verdict_is_recorded_as_its_cause(self):
        verdict = Reject("never")
        verdict.__cause__ = raised(ZeroDivisionError("by nought"))
        outcome = outcome_of(verdict)
        assert (outcome.kind, outcome.error_class, outcome.error) == ("rejected", "ZeroDivisionError", "never")
        assert "by nought" in outcome.details

    @pytest.mark.parametrize("delay", [-1, float("nan"), "7"])
    def test_a_retry_needs_a_possible_delay(self, delay):
        with pytest.raises(InvalidArgument):
            Retry(delay=delay)

    def test_an_exception_that_cannot_be_printed_is_recorded_all_the_same(self):
        class MuteError(Exception):
            def __str__(self):
                raise RuntimeError

        assert outcome_of(raised(MuteError())).error == "(the exception has no readable message)"

    def test_details_are_bounded_and_keep_beginning_and_end(self):
        text = bounded("begin" + "é" * MAX_DETAILS_BYTES + "end")
        assert len(text.encode()) <= MAX_DETAILS_BYTES
        assert text.startswith("begin")
        assert text.endswith("end")
        assert "bytes left out" in text


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "field"),
        [
            ({"concurrency": 0}, "concurrency"),
            ({"prefetch": -1}, "prefetch"),
            ({"ack_delay": -1}, "ack_delay"),
            ({"ack_delay": 61}, "ack_delay"),
            ({"ack_batch": 0}, "ack_batch"),
            ({"ack_batch": 1001}, "ack_batch"),
            ({"task_timeout": 0}, "task_timeout"),
            ({"poll_interval": -1}, "poll_interval"),
            ({"stop_grace": float("inf")}, "stop_grace"),
            ({"tasks_per_process": 0}, "tasks_per_process"),
            ({"consumer": "a\x00"}, "consumer"),
        ],
    )
    def test_what_is_wrong_is_named(self, options, field):
        with pytest.raises(InvalidArgument) as caught:
            Worker("dbname=x", "q", "m:f", **options)
        assert caught.value.field == field

    def test_the_command_line_needs_a_database(self, monkeypatch, capsys):
        monkeypatch.delenv("DATABASE_URL", raising=False)
        with pytest.raises(SystemExit, match="2"):
            main(["queue", "module:function"])
        assert "DATABASE_URL" in capsys.readouterr().err


class TestOutages:
    def test_a_call_is_repeated_until_it_answers(self, monkeypatch):
        monkeypatch.setattr(Backoff, "pause", lambda self: 0.001)
        answers = iter([psycopg.OperationalError("gone"), TimeoutError(), "here"])

        async def call():
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        assert asyncio.run(persist("ask", call)) == "here"

    def test_a_refusal_is_not_repeated(self):
        async def call():
            raise InvalidArgument("no")

        with pytest.raises(InvalidArgument):
            asyncio.run(persist("ask", call))

    def test_asking_ends_on_request(self):
        async def call():
            raise psycopg.OperationalError("gone")

        async def scenario():
            told = asyncio.Event()
            told.set()
            return await persist("ask", call, told)

        assert asyncio.run(scenario()) is None

    def test_pauses_double_to_a_limit_and_begin_again(self):
        backoff = Backoff(first=1, longest=4)
        pauses = [backoff.pause() for _ in range(4)]
        for pause, most in zip(pauses, [1, 2, 4, 4], strict=True):
            assert most / 2 <= pause <= most
        backoff.reset()
        assert backoff.pause() <= 1


def test_a_message_crosses_to_another_process_unchanged():
    now = datetime.now(UTC)
    message = Message(1, "1.1.x", 2, {"a": [1]}, {"k": "v"}, None, 0, now, now, 29.5)
    assert Message.from_json(message.to_json()) == message


def raised(error):
    try:
        raise error
    except type(error) as caught:
        return caught
