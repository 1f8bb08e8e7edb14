"""`signalbox` from a terminal, over both flavours: what it prints, what it says when it cannot, and how it ends."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from signalbox.cli import main
from signalbox.cli.main import _parser
from tests.signalbox.worker.workers import PATIENCE, eventually

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(params=["database", "http"])
def signalbox(request, monkeypatch, capsys, dsn, tmp_path):
    """Run a command: its status, its lines, what it complained."""
    monkeypatch.delenv("SIGNALBOX_API_KEY", raising=False)
    if request.param == "database":
        monkeypatch.delenv("SIGNALBOX_URL", raising=False)
        monkeypatch.setenv("DATABASE_URL", dsn)
    else:
        url, key = request.getfixturevalue("api_address")
        monkeypatch.setenv("SIGNALBOX_URL", url)
        monkeypatch.setenv("SIGNALBOX_API_KEY", key)

    def run(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return caught.value.code, out.splitlines(), err

    return run


class TestSending:
    def test_a_message_by_argument_and_by_standard_input(self, signalbox, queue, client):
        status, (first,), _ = signalbox("send", queue, '{"n": 1}', "--priority", 3, "--attributes", '{"kind": "k"}')
        assert status == 0
        status, (second,), _ = signalbox("send", queue, "-", "--json", stdin='{"n": 2}')
        messages = {message.id: message for message in client.receive(queue, 2)}
        assert messages[int(first)].payload == {"n": 1}
        assert (messages[int(first)].priority, messages[int(first)].attributes) == (3, {"kind": "k"})
        assert messages[json.loads(second)["message_id"]].payload == {"n": 2}

    def test_lines_each_for_itself(self, signalbox, queue, client):
        status, lines, complaint = signalbox("send", queue, "--lines", stdin='1\n\n{"a": \n[3]\n')
        assert status == 1
        assert "line 3: payload is not JSON" in complaint
        assert len(lines) == 2
        assert sorted(str(message.payload) for message in client.receive(queue, 5)) == ["1", "[3]"]

    def test_what_is_refused(self, signalbox, queue):
        assert signalbox("send", "nowhere", 1)[0] == 1
        status, lines, complaint = signalbox("send", queue, "{'n': 1}")
        assert (status, lines) == (1, [])
        assert complaint.startswith("signalbox: payload is not JSON")
        assert "priority" in signalbox("send", queue, 1, "--priority", 32_768)[2]

    @pytest.mark.parametrize(
        "arguments",
        [
            ("send", "QUEUE", 1, "--priority", 10**20),
            ("send", "QUEUE", 1, "--delay", "1e300"),
            ("send", "QUEUE", 1, "--delay", "nan"),
            ("send", "QUEUE", "[" * 100_000),
            ("send", "QUEUE", '"\\ud800"'),
            ("send", "QUEUE", 1, "--group", "\x00"),
            ("send", "\udcff", 1),
            ("receive", "QUEUE", "--max", 10**20),
            ("receive", "QUEUE", "--wait", "nan"),
            ("receive", "QUEUE", "--visibility-timeout", "-1"),
            ("ack", "nonsense"),
            ("ack", "\x00"),
            ("nack", "\udcff"),
            ("extend", "nonsense", "inf"),
            ("outcome", 10**30),
            ("outcome", -1),
            ("show", "\x00"),
            ("queues", "--prefix", "\x00"),
            ("create", "bad name", "--set", "max_receives=[]"),
            ("configure", "QUEUE", "--set", "retention_seconds=1e400"),
        ],
        ids=lambda arguments: f"{arguments[0]} {arguments[-1]}"[:30].encode("unicode_escape").decode(),
    )
    def test_nothing_that_is_said_ends_in_a_stack(self, signalbox, queue, arguments):
        status, lines, complaint = signalbox(*(queue if argument == "QUEUE" else argument for argument in arguments))
        assert status in (1, 2, 3, 4)
        assert "Traceback" not in complaint
        assert (lines == []) == (status != 3)

    def test_input_that_is_no_text_is_refused(self, queue, dsn):
        ended = subprocess.run(
            [sys.executable, "-m", "signalbox", "send", queue, "--lines"],
            input=b"1\n\xff\xfe\n",
            capture_output=True,
            env={**os.environ, "DATABASE_URL": dsn, "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:strict"},
            check=False,
        )
        assert ended.returncode == 1
        assert ended.stderr.startswith(b"signalbox: ")
        assert b"Traceback" not in ended.stderr


class TestReceiving:
    def test_receive_ack_and_nothing_left(self, signalbox, queue, client):
        message_id = client.send(queue, {"text": "ü"})
        status, (line,), _ = signalbox("receive", queue, "--max", 5)
        assert status == 0
        number, receive_count, handle, payload = line.split("\t")
        assert (int(number), receive_count, payload) == (message_id, "1", '{"text": "ü"}')
        assert signalbox("ack", handle, "--result", '"done"')[:2] == (0, [f"acked\t{handle}"])
        assert signalbox("ack", handle)[:2] == (3, [f"lost\t{handle}"])
        assert signalbox("receive", queue)[:2] == (3, [])

    def test_receive_for_programs_and_ack_at_once(self, signalbox, queue, client):
        message_id = client.send(queue, [1], group_id="g")
        _, (line,), _ = signalbox("receive", queue, "--json", "--ack", "--wait", 1)
        document = json.loads(line)
        assert (document["id"], document["payload"], document["group_id"]) == (message_id, [1], "g")
        assert client.message_outcome(message_id).outcome == "acked"

    def test_nack_and_extend(self, signalbox, queue, client, failures):
        message_id = client.send(queue, 1)
        handle = signalbox("receive", queue)[1][0].split("\t")[2]
        assert "T" in signalbox("extend", handle, 600)[1][0]
        assert signalbox("nack", handle, "--delay", 0, "--error-class", "E", "--state", "[1]")[:2] == (0, ["retry"])
        assert failures(message_id)[0][1] == "E"
        assert signalbox("nack", handle, "--json")[0] == 3
        assert signalbox("extend", handle, 600)[:2] == (3, ["lost"])
        assert client.receive(queue)[0].state == [1]


class TestOutcomes:
    def test_where_a_message_stands_and_how_it_ended(self, signalbox, queue, client):
        message_id = client.send(queue, 1)
        assert signalbox("outcome", message_id)[:2] == (0, [f"pending\t{queue}\t-"])
        assert signalbox("outcome", message_id, "--wait", 0)[:2] == (3, [f"pending\t{queue}\t-"])
        client.ack(client.receive(queue)[0], result=[1])
        status, (line,), _ = signalbox("outcome", message_id, "--wait", 100, "--json")
        assert (status, json.loads(line)["outcome"], json.loads(line)["result"]) == (0, "acked", [1])
        assert signalbox("outcome", 10**12)[0] == 3


class TestQueues:
    def test_made_and_configured(self, signalbox, queue, client):
        name = f"{queue}-cli"
        assert signalbox("create", name, "--set", "max_receives=1", "--set", "mode=fifo")[0] == 0
        assert signalbox("configure", name, "--set", "visibility_timeout_seconds=600")[0] == 0
        client.send(name, 1)
        (message,) = client.receive(name)
        assert message.lease_seconds > 500
        assert client.nack(message) == "dead"
        assert f"{name}\tdefault\tfifo\tactive" in signalbox("queues", "--prefix", name)[1]
        status, lines, _ = signalbox("show", name)
        assert (
            status,
            "dead\t1" in lines,
            any(line.startswith("visibility_timeout_seconds\t600") for line in lines),
        ) == (0, True, True)
        assert json.loads(signalbox("show", name, "--json")[1][0])["messages"]["dead"] == 1
        assert signalbox("queues", "--prefix", "no such")[0] == 3
        status, _, complaint = signalbox("configure", name, "--set", "max_receives=0")
        assert status == 1
        assert "max_receives" in complaint
        assert "NAME=VALUE" in signalbox("create", name, "--set", "max_receives")[2]


class TestStreams:
    def test_from_the_first_message_to_a_seek(self, signalbox, queue):
        stream = f"{queue}-log-{os.urandom(4).hex()}"
        assert signalbox("stream", "create", stream, "--set", "partitions=1")[0] == 0
        assert signalbox("stream", "list", "--prefix", stream)[1] == [f"{stream}\tdefault\t1"]
        assert signalbox("stream", "groups", stream)[0] == 3
        status, (line,), _ = signalbox("stream", "groups", stream, "--create", "g", "--point", "beginning")
        assert (status, line.split("\t")) == (0, ["g", "0", "0.0", "0", "0"])
        assert signalbox("stream", "append", stream, '{"n": 1}', "--key", "k")[1] == ["0\t1"]
        assert signalbox("stream", "append", stream, '{"n": 1}', "--key", "k", "--dedup", "one")[1] == ["0\t2"]
        assert signalbox("stream", "append", stream, '{"n": 1}', "--key", "k", "--dedup", "one")[1] == ["0\t2"]
        assert "--lines" in signalbox("stream", "append", stream, "--lines", "--dedup", "one", stdin="2\n")[2]
        assert signalbox("stream", "append", stream, "--lines", stdin="2\n\n[3]\n")[1] == ["0\t3", "0\t4"]
        assert signalbox("stream", "read", stream, "g", "--max", 1)[1] == ['0\t1\tk\t{"n": 1}']
        status, lines, _ = signalbox("stream", "read", stream, "g", "--json", "--commit")
        assert [json.loads(line)["payload"] for line in lines] == [{"n": 1}, {"n": 1}, 2, [3]]
        assert signalbox("stream", "read", stream, "g")[0] == 3
        more = ("stream", "configure", stream, "--set", "partitions=2")
        assert signalbox(*more, "--dry-run")[:2] == (0, ["1\t1\t0.5\t0"])
        assert signalbox(*more)[0] == 0
        assert "can only grow" in signalbox("stream", "configure", stream, "--set", "partitions=1")[2]
        assert "partitions=NUMBER" in signalbox("stream", "configure", stream, "--set", "closed=true", "--dry-run")[2]
        seek = ("stream", "seek", stream, "g", "offset", "--partition", 0, "--position", 1)
        assert signalbox(*seek, "--dry-run")[1] == signalbox(*seek)[1] == ["0\t4\t1\t3"]
        configure = ("stream", "configure-group", stream, "g", "--set", "filter=payload.n:1")
        assert signalbox(*configure, "--dry-run")[:2] == (0, ["changed\t2\t3"])
        assert signalbox(*configure)[:2] == (0, ["changed\t2\t3"])
        assert signalbox(*configure)[:2] == (3, ["unchanged\t0\t0"])
        status, _, complaint = signalbox("stream", "append", stream, "--lines", stdin="1\n{\n")
        assert (status, "line 2 is not JSON" in complaint) == (1, True)
        assert "at is 'noon'" in signalbox("stream", "seek", stream, "g", "time", "--at", "noon")[2]
        new = f"{stream}-new"
        assert signalbox("stream", "rename", stream, new)[0] == 0
        delete = ("stream", "delete", new)
        assert signalbox(*delete)[:2] == (3, ["g\t1\t3"])
        assert f"typed_name must be '{new}'" in signalbox(*delete, "--typed-name", stream)[2]
        assert "is open: close it first" in signalbox(*delete, "--typed-name", new)[2]
        assert signalbox("stream", "configure", new, "--set", "closed=true")[0] == 0
        assert signalbox(*delete, "--typed-name", new)[0] == 0
        assert signalbox("stream", "list", "--prefix", stream)[0] == 3


class TestElsewhere:
    """Calls that are equal in both flavours."""

    def test_it_needs_to_know_where(self, monkeypatch, capsys):
        for name in ("SIGNALBOX_URL", "DATABASE_URL"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(SystemExit, match="2"):
            main(["receive", "orders"])
        assert "--url, SIGNALBOX_URL or DATABASE_URL" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (["--url", "https://queue.test"], "SIGNALBOX_API_KEY"),
            (["--url", "https://queue.test", "--api-key-file", "/no/such/file"], "/no/such/file"),
            (["--url", "postgresql://db.test", "--api-key-file", "x"], "names a database"),
        ],
    )
    def test_a_server_wants_a_key(self, monkeypatch, capsys, arguments, complaint):
        monkeypatch.delenv("SIGNALBOX_API_KEY", raising=False)
        with pytest.raises(SystemExit, match="2"):
            main(["receive", "orders", *arguments])
        assert complaint in capsys.readouterr().err

    def test_an_unreachable_server(self, capsys):
        with pytest.raises(SystemExit, match="4"):
            main(["receive", "orders", "--url", "postgresql://127.0.0.1:1/nowhere"])
        assert "the database cannot be reached, and nothing was done" in capsys.readouterr().err

    def test_every_command_and_option_is_documented(self):
        page = (DOCS / "use/cli.md").read_text()
        (commands,) = (action.choices for action in _parser()._actions if action.dest == "command")
        for name, parser in commands.items():
            assert f"`signalbox {name}" in page
            if name != "worker":
                switches = {action.option_strings[0] for action in parser._actions if action.option_strings} - {"-h"}
                assert {switch for switch in switches if f"`{switch}" not in page} == set()


def test_a_worker_finds_handlers_where_it_is_started(client, queue, notes, dsn, tmp_path, held):
    (tmp_path / "here.py").write_text(
        "def handle(message):\n    open(message.payload['notes'], 'a').write('ran 1 1 1\\n')\n"
    )
    client.send(queue, notes.payload())
    environment = {**os.environ, "DATABASE_URL": dsn, "PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, "-m", "signalbox", "worker", queue, "here:handle", "--log-level", "WARNING"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment) as process:
        eventually(lambda: held(queue) == 0)
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert len(notes.said("ran")) == 1
