"""Handlers that say themselves which queue they are for."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime

import pytest

from signalbox import InvalidArgument, Message
from signalbox.worker import handles
from signalbox.worker.command import main, workers_of
from signalbox.worker.handlers.registry import handlings_of
from tests.signalbox.worker import decorated
from tests.signalbox.worker.handlers import record
from tests.signalbox.worker.workers import eventually

APP = "tests.signalbox.worker.decorated"
QUEUES = ["decorated-records", "decorated-exports", "decorated-orders", "decorated-mail", "decorated-letters"]


@pytest.fixture
def message(tmp_path):
    now = datetime.now(UTC)
    return Message(1, "1.1.x", 1, {"notes": str(tmp_path / "notes")}, {}, None, 0, now, now, 30.0)


class TestDecorating:
    def test_the_function_stays_what_it_was(self, message):
        assert decorated.ship(message) == "shipped"
        assert asyncio.run(decorated.post(message)) is None
        assert decorated.record is record

    def test_what_a_module_has_is_found_with_what_it_says(self):
        found = {one.queue: one for one in handlings_of(APP)}
        assert found.keys() == set(QUEUES)
        assert found["decorated-orders"].handler == f"{APP}:ship"
        assert found["decorated-orders"].options == {"concurrency": 2, "keep_results": True}
        assert found["decorated-records"].handler == "tests.signalbox.worker.handlers:record"
        assert found["decorated-mail"].handler == found["decorated-letters"].handler == f"{APP}:post"
        assert [one.queue for one in handlings_of(APP, "decorated-mail")] == ["decorated-mail"]

    @pytest.mark.parametrize(
        ("decorate", "field"),
        [
            (lambda: handles("q", concurrency=0)(record), "concurrency"),
            (lambda: handles(7)(record), "queue"),
            (lambda: handles("q")(lambda message: None), "handler"),
        ],
    )
    def test_what_is_wrong_is_named_where_it_is_written(self, decorate, field):
        with pytest.raises(InvalidArgument) as caught:
            decorate()
        assert caught.value.field == field

    @pytest.mark.parametrize(
        ("source", "queue", "reason"),
        [
            ("", None, "decorated with @handles"),
            ("@handles('a')\ndef one(m): ...", "b", "no handler of the queue b"),
            ("@handles('a')\ndef one(m): ...\n@handles('a')\ndef two(m): ...", None, "two handlers of a"),
        ],
    )
    def test_an_app_that_handles_nothing_or_one_thing_twice_is_refused(
        self, tmp_path, monkeypatch, source, queue, reason
    ):
        app = tmp_path / "strange_app.py"
        app.write_text(f"from signalbox.worker import handles\n{source}\n")
        monkeypatch.setattr(sys, "path", list(sys.path))
        with pytest.raises(InvalidArgument, match=reason):
            handlings_of(str(app), queue)
        monkeypatch.delitem(sys.modules, "strange_app")

    def test_a_handler_of_a_file_is_named_by_its_path(self, tmp_path, monkeypatch):
        app = tmp_path / "shop_app.py"
        app.write_text("from signalbox.worker import handles\n@handles('a')\ndef one(m): ...\n")
        monkeypatch.setattr(sys, "path", list(sys.path))
        assert [one.handler for one in handlings_of(str(app))] == [f"{app}:one"]
        monkeypatch.delitem(sys.modules, "shop_app")


class TestWorkers:
    def test_what_a_handler_leaves_open_the_command_line_says(self):
        workers = {one.queue: one for one in workers_of("dsn", {"app": APP, "concurrency": 9, "metrics_port": 9100})}
        assert workers["decorated-orders"].concurrency == 2
        assert workers["decorated-records"].concurrency == 9
        assert workers["decorated-records"].prefetch == 3
        assert [one.metrics_port for one in workers.values()] == [9100, *[None] * (len(QUEUES) - 1)]

    @pytest.mark.parametrize(
        "arguments", [["orders"], [], ["orders", "tasks:handle", "--app", APP]], ids=["no handler", "nothing", "both"]
    )
    def test_a_command_line_that_says_too_little_or_too_much(self, arguments, capsys):
        with pytest.raises(SystemExit):
            main([*arguments, "--url", "postgresql://db.test"])
        assert "--app" in capsys.readouterr().err


def test_one_process_runs_all_handlers_of_a_module(client, notes, start_app, held, connected):
    for queue in QUEUES:
        client.create_queue(queue)
        client.send(queue, notes.payload())
    worker = start_app(APP)
    eventually(lambda: sum(held(queue) for queue in QUEUES) == 1)
    assert sorted(line[0] for line in notes.lines) == ["began", "posted", "posted", "ran", "shipped"]
    worker.process.terminate()
    eventually(lambda: not connected("decorated-mail"))  # a worker that has ended stops no other at once
    notes.open_gate()
    assert worker.wait() == 0
    assert len(notes.said("ended")) == 1


def test_when_one_cannot_go_on_the_others_stop(client, start_app):
    client.create_queue("decorated-orders")
    worker = start_app("tests.signalbox.worker.half_there")
    assert worker.wait() == 1
    assert "queue-that-is-not-there" in worker.log.read_text()
