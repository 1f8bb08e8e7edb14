"""Lists as exports: contents, omissions, truncation, and disconnected clients."""

from __future__ import annotations

import csv
import io
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.db import connection

from dlq.export import rows as export_rows
from dlq.export.files import Bound, Export, Format, Source, defused
from dlq.search.checked_filter import check_filter
from queues.models import AuditEvent, Queue
from tests.console.browsers import Browser
from tests.console.servers import console_server
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.dlq.processes import PROJECT, environment
from tests.engine import Engine

PATIENCE_SECONDS = 90
HOSTILE = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "  =1",
    "\uff1d1",
    'a"b',
    "a,b",
    "a\nb",
    "\u2028",
    "\U0001f600",
    "plain",
]


def fetched(browser: Browser, path: str, **parameters: str) -> bytes:
    answer = browser.get(path, parameters)
    assert answer.status_code == 200, answer.content
    assert answer.streaming
    body = b"".join(answer.streaming_content)
    answer.close()
    return body


def ndjson(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in body.decode().split("\n")[:-1]]


def table(body: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(body.decode(), newline="")))


def events(actor: str, of: str) -> list[AuditEvent]:
    found = AuditEvent.objects.filter(actor=actor, details__of=of, action__startswith="export.")
    return list(found.order_by("audit_event_id"))


def test_ndjson_has_the_values_that_were_sent(operator: Browser, scene: DeadLetterScene) -> None:
    payload = {"list": [1, 2.50, None, True, "\u2603"], "text": HOSTILE, "big": 12345678901234567890123}
    ids = scene.add_dead(3, error_class="KeyError", error="'x'\n", payload=payload)
    scene.add_dead(1, error_class="Other")

    rows = ndjson(fetched(operator, "/exports/dead-letters", q=f"{scene.filter} class:KeyError"))

    assert [row["dead_letter_id"] for row in rows] == ids[::-1]
    assert rows[0]["payload"] == {**payload, "n": 3}
    assert (rows[0]["error"], rows[0]["source_queue"]) == ("'x'\n", scene.queue)
    assert rows[0]["queue"] == f"{scene.queue}-dlq"
    [start, end] = [one for one in events(operator.name, "dead letters") if scene.queue in one.details["filter"]]
    assert (start.action, start.details["format"]) == ("export.start", "ndjson")
    assert start.details["rows_at_most"] == django_settings.EXPORT_MAX_ROWS
    assert (end.action, end.details["ended"], end.details["rows"]) == ("export.end", "complete", 3)


@pytest.mark.parametrize("text", HOSTILE)
def test_csv_is_defused_and_otherwise_whole(operator: Browser, scene: DeadLetterScene, text: str) -> None:
    scene.add_dead(1, error_class=text, error=text, payload={text: text})

    [row] = table(fetched(operator, "/exports/dead-letters", q=scene.filter, format="csv"))

    assert row["error"] in (text, f"'{text}")
    assert row["error_class"] == row["error"] == defused(text)
    assert not row["error"].lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"))
    assert json.loads(row["payload"]) == {text: text, "n": 1}


def test_a_payload_that_is_a_negative_number_is_no_formula(engine: Engine, operator: Browser) -> None:
    engine.send(-5)

    [row] = table(fetched(operator, f"/exports/messages/{engine.queue}", format="csv"))

    assert row["payload"] == "'-5"


def test_messages_are_exported_by_state_with_their_whole_payloads(operator: Browser, engine: Engine) -> None:
    message_id = engine.send({"long": "x" * 5_000}, attributes={"a": 1}, deduplication_id="d-1")
    engine.send({"n": 2}, delay_seconds=600)
    engine.receive(consumer="w")

    [row] = ndjson(fetched(operator, f"/exports/messages/{engine.queue}", state="leased"))

    assert (row["message_id"], row["state"], row["consumer"], row["deduplication_id"]) == (
        *(message_id, "leased", "w"),
        "d-1",
    )
    assert row["payload"] == {"long": "x" * 5_000}
    assert row["attributes"] == {"a": 1}
    assert ndjson(fetched(operator, f"/exports/messages/{engine.queue}", state="ready")) == []


def test_a_viewer_gets_facts_without_payloads(viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1, error="card 411122223333", payload={"card": "411122223333"})
    scene.engine.send({"card": "411122223333"})

    for body in (
        fetched(viewer, "/exports/dead-letters", q=scene.filter),
        fetched(viewer, "/exports/dead-letters", q=scene.filter, format="csv"),
        fetched(viewer, f"/exports/messages/{scene.queue}"),
    ):
        assert body
        assert b"411122223333" not in body
        assert b"payload" not in body
    denial = "Viewing payloads, attributes and stacks requires the operator role."
    assert f"Without payloads, attributes and error texts. {denial}" in viewer.see("/dead-letters").text
    assert viewer.get("/exports/dead-letters", {"q": "payload.card:411122223333"}).status_code == 302


def test_the_audit_is_a_list_too(viewer: Browser, admin: Browser, engine: Engine) -> None:
    admin.submit(f"/queues/{engine.queue}/pause", reason="=evil()")

    asked = f"queue:{engine.queue} -action:queue.create"
    [row] = table(fetched(viewer, "/exports/audit", q=asked, format="csv"))

    assert (row["actor"], row["action"], row["reason"]) == (admin.name, "queue.pause", "'=evil()")


def test_a_mistake_leads_back_to_the_list(operator: Browser, engine: Engine) -> None:
    for path, back in (
        ("/exports/dead-letters", "/dead-letters?"),
        (f"/exports/messages/{engine.queue}", f"/queues/{engine.queue}/messages?"),
    ):
        answer = operator.get(path, {"q": "error:/(/"})
        assert answer.status_code == 302
        assert answer["Location"].startswith(back)
    assert operator.get("/exports/audit", {"q": "colour:red"})["Location"] == "/audit?q=colour%3Ared"


def test_what_is_cut_says_so(operator: Browser, scene: DeadLetterScene, settings: Any) -> None:
    ids = scene.add_dead(5)
    settings.EXPORT_MAX_ROWS = 2

    *rows, last = ndjson(fetched(operator, "/exports/dead-letters", q=scene.filter))
    assert [row["dead_letter_id"] for row in rows] == ids[:2:-1]
    assert last == {"signalbox_export": {"cut": "cut after 2 rows (the limit of an export); there are more", "rows": 2}}
    assert table(fetched(operator, "/exports/dead-letters", q=scene.filter, format="csv"))[-1][
        "dead_letter_id"
    ].startswith("# cut after 2 rows")

    settings.EXPORT_MAX_ROWS, settings.EXPORT_MAX_BYTES = 100, 2_000
    *rows, last = ndjson(fetched(operator, "/exports/dead-letters", q=scene.filter))
    assert "bytes (limit: 2,000)" in last["signalbox_export"]["cut"]
    assert 0 < len(rows) < 5
    assert events(operator.name, "dead letters")[-1].details["ended"] == "cut"

    settings.EXPORT_MAX_ROWS, settings.EXPORT_MAX_BYTES = 5, 200_000
    assert len(ndjson(fetched(operator, "/exports/dead-letters", q=scene.filter))) == 5  # just as many: not cut


def source(batches: Iterator[list[dict[str, Any]]]) -> Source:
    return Source("numbers", "", ("n", "text"), batches)


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_twenty_thousand_rows_need_little_memory(scene: DeadLetterScene, dsn: str) -> None:
    """Measure the last quarter: retained rows would grow there as before."""
    scene.add_dead(20_000, payload={"text": "x" * 300})
    command = [sys.executable, "-m", "tests.console.filters.export_memory", scene.filter, "20000"]

    printed = subprocess.run(command, cwd=PROJECT, env=environment(dsn), capture_output=True, text=True, check=True)

    rows, written, peak = map(int, printed.stdout.split())
    assert rows == 20_000
    assert written > 3_750_000
    assert peak < 1_500_000


def test_no_transaction_stays_open_between_two_chunks(commits: None, scene: DeadLetterScene) -> None:
    scene.add_dead(300)
    export = Export(
        export_rows.dead_letters(check_filter(scene.filter), see_payloads=True), Format.NDJSON, Bound.of(), "ana"
    )
    next(export)

    state = scene.engine.value(
        "select state from pg_stat_activity where pid = %s", connection.connection.info.backend_pid
    )
    assert state == "idle"  # and not "idle in transaction"
    deleted = scene.engine.value("select signalbox.delete_dead_letters(%s)", scene.dead())
    assert deleted == 300
    assert sum(chunk.count(b"\n") for chunk in export) < 300  # rows deleted during the export are left out


def test_an_export_that_breaks_off_is_audited_so(commits: None, engine: Engine) -> None:
    def breaking() -> Iterator[list[dict[str, Any]]]:
        yield [{"n": 1, "text": "a"}]
        raise ZeroDivisionError

    export = Export(source(breaking()), Format.NDJSON, Bound.of(), engine.queue)
    assert next(export) == b'{"n": 1, "text": "a"}\n'
    with pytest.raises(ZeroDivisionError):
        next(export)
    export.close()

    assert [event.details.get("ended") for event in events(engine.queue, "numbers")] == [None, "failed"]


def test_a_client_that_goes_away_frees_the_connection(
    operator: Browser, scene: DeadLetterScene, dsn: str, tmp_path: Any
) -> None:
    """The whole path: a server, a socket closed after the first bytes, and no session left in the database."""
    scene.add_dead(2_000, payload={"text": "x" * 8_000})
    cookie = operator.cookies[django_settings.SESSION_COOKIE_NAME].value
    with psycopg.connect(dsn, autocommit=True) as watcher, console_server(dsn) as server:
        before = sessions(watcher)
        address = urlsplit(server.url)
        with socket.create_connection((address.hostname or "", address.port or 0), timeout=PATIENCE_SECONDS) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.sendall(
                f"GET /exports/dead-letters?q={scene.filter} HTTP/1.1\r\nHost: {address.netloc}\r\n"
                f"Cookie: {django_settings.SESSION_COOKIE_NAME}={cookie}\r\n\r\n".encode()
            )
            assert client.recv(1_000).startswith(b"HTTP/1.1 200")
        ends_at = time.monotonic() + PATIENCE_SECONDS
        while "abandoned" not in endings(scene) or sessions(watcher) > before:
            assert time.monotonic() < ends_at, (endings(scene), sessions(watcher), before)
            time.sleep(0.1)


def sessions(watcher: psycopg.Connection[Any]) -> int:
    row = watcher.execute(
        "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    ).fetchone()
    assert row is not None
    return int(row[0])


def endings(scene: DeadLetterScene) -> list[str]:
    found = AuditEvent.objects.filter(action="export.end", details__filter=scene.filter)
    return list(found.values_list("details__ended", flat=True))


# ---- from a terminal


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("export", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_the_command_writes_the_same(commits: None, scene: DeadLetterScene) -> None:
    scene.add_dead(2, error_class="KeyError", payload={"a": 1})
    scene.engine.send({"b": 2})
    scene.engine.send({"b": 3}, delay_seconds=600)

    rows = ndjson(command(f"{scene.filter} class:KeyError").encode())
    assert [row["payload"] for row in rows] == [{"a": 1, "n": 2}, {"a": 1, "n": 1}]
    [line] = table(command("payload.b:2", "--of", f"messages:{scene.queue}", "--format", "csv").encode())
    assert line["payload"] == '{"b": 2}'
    states = [row["state"] for row in ndjson(command("", "--of", f"messages:{scene.queue}").encode())]
    assert states == ["ready", "scheduled"]
    assert [row["state"] for row in ndjson(command("state:ready", "--of", f"messages:{scene.queue}").encode())] == [
        "ready"
    ]


def test_the_command_that_is_cut_ends_with_status_3(commits: None, scene: DeadLetterScene) -> None:
    scene.add_dead(3)
    with pytest.raises(SystemExit) as caught:
        command(scene.filter, "--limit", "2")
    assert caught.value.code == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["age:old"], "The mistake is at character 5: old"),
        (["error:/(/"], "PostgreSQL cannot read this pattern"),
        (["", "--limit", "0"], "limit is 0: it must be from 1 to"),
        (["", "--of", "messages:no-such-queue"], "no-such-queue"),
        (["", "--of", "messages:"], "--of must be dead-letters or messages:QUEUE"),
        (["", "--state", "ready"], "--of must be dead-letters or messages:QUEUE"),
        (["class:x", "--of", "messages:Q"], "does not work for ready messages"),
    ],
)
def test_the_command_says_what_is_wrong(commits: None, engine: Engine, arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        command(*[one.replace("messages:Q", f"messages:{engine.queue}") for one in arguments])
    assert Queue.objects.filter(name=engine.queue).exists()
