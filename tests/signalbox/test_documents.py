"""Examples in pages of docs/use run, and the lists of these pages are complete."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from pathlib import Path

import pytest

from signalbox import Message, Verbs, errors, http
from signalbox.http import HttpClient
from signalbox.worker import Reject, Retry
from signalbox.worker.command import add_arguments
from signalbox.worker.handlers.registry import handlings_of

DOCS = Path(__file__).parents[2] / "docs"


def examples(name):
    return re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(), re.DOTALL)


def test_the_clients_examples_run(dsn, client):
    client.create_queue("orders")
    while client.purge("orders", states=("ready", "scheduled", "waiting", "leased")):
        pass  # examples of other pages leave some
    given = {"dsn": dsn}
    for page in ("use/client.md", "use/waiting.md"):
        for example in examples(page):
            exec(compile(example, f"docs/{page}", "exec"), given)
    assert client.receive("orders") == []
    given["client"].close()


def test_the_loop_for_users_of_kafka_reads_and_commits(dsn):
    given = {"dsn": dsn}
    for example in examples("use/streams-kafka.md"):
        exec(compile(example, "docs/use/streams-kafka.md", "exec"), given)
    assert [payload["amount"] for _, _, payload in given["booked"]] == [0, 1, 2]
    [group] = given["client"].list_groups("payments")
    assert (group.lag_messages, group.members) == (0, 0)
    given["client"].close()


def test_the_compacted_stream_of_the_page_gets_its_messages(client):
    (example,) = examples("use/compaction.md")
    exec(compile(example, "docs/use/compaction.md", "exec"), {"client": client})
    (stream,) = client.list_streams("customers")
    assert stream.settings["compaction"] is True
    client.create_group("customers", "page", point="beginning")
    read = client.read_stream("customers", "page", "m")
    assert [(message.key, message.payload) for message in read][-1] == ("c-1", None)


def test_more_partitions_have_the_preview_that_the_page_shows_and_the_stream_ends(client):
    example, ending = examples("use/stream-settings.md")
    client.create_stream("orders", {"partitions": 4})
    for group in ("billing", "search"):
        client.create_group("orders", group, point="beginning")
    client.append_batch("orders", list(range(60)))
    preview, change = example.strip().splitlines()
    call, _, shown = preview.partition("  # ")
    assert repr(eval(call, {"client": client})) == shown
    exec(compile(change, "docs/use/stream-settings.md", "exec"), {"client": client})
    assert client.list_streams("orders")[0].settings["partitions"] == 8
    exec(compile(ending, "docs/use/stream-settings.md", "exec"), {"client": client})
    assert {"orders", "sales"}.isdisjoint(stream.name for stream in client.list_streams())


def test_every_call_of_the_page_for_users_of_kafka_exists():
    page = (DOCS / "use/streams-kafka.md").read_text()
    calls = re.findall(r"^\|[^|]+\|([^|]+)\|$", page.partition("## What is different")[0], re.MULTILINE)
    named = {name for cell in calls for name in re.findall(r"`([a-z_]+)\(", cell)}
    assert named >= {"append", "read_stream", "commit_messages", "seek", "list_groups", "join_group"}
    assert {name for name in named if not hasattr(Verbs, name)} == set()


def test_the_first_message_is_sent_and_received(dsn, capsys):
    program = "\n".join(examples("start/first-message.md"))
    given = {}
    exec(compile(program.replace('"postgresql://…"', repr(dsn)), "docs/start/first-message.md", "exec"), given)
    assert capsys.readouterr().out == "{'order_id': 42}\n"
    given["client"].close()


def test_the_examples_over_http_run(api_address):
    given = dict(zip(("url", "api_key"), api_address, strict=True))
    for example in examples("use/http-client.md"):
        exec(compile(example, "docs/use/http-client.md", "exec"), given)
    assert [message.payload for message in given["client"].receive("parcels", 10)] == [{"parcel": 8}]
    given["client"].close()


def test_the_workers_app_is_an_app(tmp_path, monkeypatch):
    _, app, *_ = examples("use/worker.md")
    (tmp_path / "shop.py").write_text(app)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert {one.queue: one.options for one in handlings_of(str(tmp_path / "shop.py"))} == {
        "orders": {"concurrency": 4, "task_timeout": 60},
        "mail": {"prefetch": 100},
    }
    monkeypatch.delitem(sys.modules, "shop")


def test_the_workers_example_decides(queue, client):
    example, *_ = examples("use/worker.md")
    given = {}
    exec(compile(example, "docs/use/worker.md", "exec"), given)
    client.send_batch(queue, [{"order_id": 1}, {}, {"order_id": 2, "not_before": 3}])
    fine, without_id, early = client.receive(queue, 3)
    assert isinstance(fine, Message)
    assert given["handle"](fine) is None
    with pytest.raises(Reject):
        given["handle"](without_id)
    with pytest.raises(Retry):
        given["handle"](early)


def test_every_option_of_the_command_line_is_documented():
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    given = {switch for action in parser._actions for switch in action.option_strings}
    assert set(re.findall(r"^\| `(--[a-z-]+)` \|", (DOCS / "use/worker-options.md").read_text(), re.MULTILINE)) == given


def test_every_verb_and_error_is_documented():
    page = (DOCS / "use/client.md").read_text()
    verbs = {name for name in {*vars(Verbs), "purge"} if not name.startswith("_")} - {"close", "announce_consumer"}
    assert {verb for verb in verbs if f"`{verb}(" not in page} == set()
    own = {kind.__name__ for kind in errors.SignalboxError.__subclasses__() if kind.__module__ == errors.__name__}
    assert {name for name in own - set(http.__all__) if f"`{name}`" not in page} == set()


def test_every_error_and_option_over_http_is_documented():
    page = (DOCS / "use/http-client.md").read_text()
    names = set(http.__all__) - {"HttpClient", "AsyncHttpClient"}
    assert {name for name in names if f"| `{name}` |" not in page} == set()
    options = inspect.signature(HttpClient).parameters.keys() - {"url", "api_key", "httpx_options"}
    assert {option for option in options if f"| `{option}` |" not in page} == set()
