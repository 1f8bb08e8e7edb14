"""Logs name messages and never quote them: a word from a payload, in every way it could get there, and none it did."""

from __future__ import annotations

import json
import logging
import sys

import psycopg
import pytest

from signalbox import InvalidArgument, SignalboxError
from signalbox.logs import JsonFormatter, TextFormatter, in_brief
from signalbox.tracing import handling
from tests.signalbox.worker.workers import eventually

CANARY = "canary-4111-1111"


def record(message="it failed", error=None, **extra):
    info = None
    if error is not None:
        try:
            raise error
        except Exception:
            info = sys.exc_info()
    made = logging.LogRecord("signalbox.test", logging.WARNING, __file__, 7, message, None, info)
    made.__dict__.update(extra)
    return made


def formatted(made):
    """The record as either formatter says it."""
    return TextFormatter().format(made), json.loads(JsonFormatter().format(made))


class TestFormatters:
    def test_fields_of_the_message_go_out(self):
        text, document = formatted(record(queue="orders", message_id=7, trace_id="t", correlation_id="order-7"))
        assert text.endswith("it failed [queue=orders message_id=7 trace_id=t correlation_id=order-7]")
        assert document | {"time": "", "process": 0} == {
            "time": "",
            "level": "WARNING",
            "logger": "signalbox.test",
            "message": "it failed",
            "process": 0,
            "queue": "orders",
            "message_id": 7,
            "trace_id": "t",
            "correlation_id": "order-7",
        }

    def test_what_a_message_carries_cannot_begin_a_line(self):
        forged = "t\n2026-01-01 00:00:00,000 ERROR signalbox: forged\r\x1b[2J\u2028"
        text = TextFormatter().format(record(forged, trace_id=forged, correlation_id=forged))
        assert len(text.splitlines()) == 1
        assert "\x1b" not in text

    def test_whatever_is_not_named_stays_inside(self):
        text, document = formatted(record(payload={"card": CANARY}, request=CANARY))
        assert CANARY not in text + json.dumps(document)

    def test_an_error_is_its_class_and_its_place(self):
        error = ValueError(CANARY)
        error.__cause__ = KeyError(CANARY)
        text, document = formatted(record(error=error))
        assert CANARY not in text + json.dumps(document)
        assert text.splitlines()[-1] == "KeyError"
        assert [one["class"] for one in document["errors"]] == ["ValueError", "KeyError"]
        assert "test_logs.py" in document["errors"][0]["stack"][0]

    def test_one_line_however_the_message_is_broken(self):
        assert len(JsonFormatter().format(record("a\nb")).splitlines()) == 1

    def test_what_is_handled_is_known_without_saying(self, client, queue):
        client.send(queue, {"n": 1}, correlation_id="order-7")
        (message,) = client.receive(queue)
        with handling(queue, message):
            _, document = formatted(record())
        assert (document["queue"], document["message_id"], document["correlation_id"]) == (
            queue,
            message.id,
            "order-7",
        )


class TestWordsOfErrors:
    def test_own_errors_are_recognised(self):
        assert in_brief(InvalidArgument("priority is 12", field="priority")).endswith("priority is 12")

    def test_those_of_others_are_not(self):
        assert in_brief(ValueError(CANARY)) == "ValueError"
        assert in_brief(ConnectionRefusedError(111, "Connection refused", CANARY)) == (
            "ConnectionRefusedError: Connection refused"
        )

    @pytest.mark.parametrize(
        "statement",
        [
            "select %s::bigint",
            "select %s::text::jsonb",
            "insert into signalbox.sql_script (name, checksum) values (%s, null)",
        ],
    )
    def test_the_database_is_not_quoted_where_it_quotes(self, connection, statement):
        with pytest.raises(psycopg.Error) as refusal:
            connection.execute(statement, [CANARY])
        assert "canary" in str(refusal.value)
        assert "canary" not in in_brief(refusal.value)
        assert "SQLSTATE 2" in in_brief(refusal.value)


def dead_of(dsn, queue):
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select count(*) from signalbox.dead_letter where source_queue = %s", [queue])
        return row.fetchone()[0]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_word_of_a_payload_is_in_any_log_of_a_worker(client, make_queue, notes, start_worker, held, dsn, log_format):
    """Failures, retries, rejections, results too large, deaths: all with the canary in payload and error."""
    queue = make_queue(max_receives=2, backoff_base_seconds=0.05)
    kinds = ("fail", "reject", "retry", "exit", "result")
    for kind in kinds:
        client.send(queue, notes.payload(canary=CANARY, kind=kind), correlation_id=f"story-{kind}")
    worker = start_worker(
        queue, "tell_the_canary", log_format=log_format, log_level="DEBUG", keep_results=True, task_timeout=60
    )

    eventually(lambda: held(queue) == dead_of(dsn, queue) == len(kinds) - 1)
    worker.process.terminate()
    worker.wait()
    log = worker.log.read_text()
    assert "story-fail" in log
    assert CANARY not in log
    if log_format == "json":
        lines = [json.loads(line) for line in log.splitlines()]
        died = [line for line in lines if line.get("error_class") == "ValueError"]
        assert {(line["queue"], line["correlation_id"]) for line in died} >= {(queue, "story-fail")}


def test_no_word_of_a_payload_that_is_refused_is_logged(client, make_queue, caplog):
    caplog.set_level(logging.DEBUG)
    small = make_queue(max_payload_bytes=1024)
    for payload in (CANARY * 500, {CANARY: float("nan")}, {"a": CANARY + "\x00"}):
        with pytest.raises(SignalboxError) as refusal:
            client.send(small, payload)
        logging.getLogger("application").error("not sent", exc_info=refusal.value)
    said = [TextFormatter().format(one) + JsonFormatter().format(one) for one in caplog.records]
    assert len([one for one in said if "not sent" in one]) == 3
    assert [one for one in said if CANARY in one] == []
