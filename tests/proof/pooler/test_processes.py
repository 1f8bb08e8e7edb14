"""The processes of an installation behind PgBouncer in transaction mode, by the one setting, with no way past it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from signalbox import Client, connect
from tests.chaos.server import PROJECT
from tests.ports import free_port
from tests.proof.pooler.pgbouncer import ROLE, Pooler, wait_until

pytestmark = pytest.mark.timeout(1500)

PAGES = [
    "/", "/queues/{queue}", "/queues/{queue}/messages", "/queues/{queue}/groups", "/queues/{queue}/consumers",
    "/queues/{queue}/settings", "/queues/{queue}/history", "/queues/{queue}/audit", "/queues/{queue}/purge",
    "/queues/{queue}/retire", "/queues/{queue}-dlq", "/dead-letters", "/dead-letters/failure-groups", "/redrives",
    "/redrives/plans", "/trash", "/approvals",
    "/saved-filters", "/consumers", "/old-snapshots", "/alerts", "/alerts/silences", "/streams", "/tenants", "/history",
    "/pipeline", "/audit", "/masking", "/people", "/api-keys", "/v1/docs", "/account", "/exports/messages/{queue}",
    "/exports/dead-letters?q=queue:{queue}", "/metrics", "/metrics/queues", "/healthz",
]  # fmt: skip

LEADS = "select count(*) from signalbox.upkeep_leader where expires_at > clock_timestamp()"
FOLDED = "select count(*) from signalbox.queue_stat s join signalbox.queue q using (queue_id) where q.name = %s"
FLOORS = """
select count(*)
from signalbox.claim_floor h
join signalbox.queue q using (queue_id)
where q.name = %s and h.floor is not null
"""

LOOK = """
import json
from django.contrib.auth.models import User
from django.test import Client
person, _ = User.objects.get_or_create(username="root", is_superuser=True)
browser = Client(headers={{"host": "localhost"}})
browser.force_login(person)
pages = json.loads('''{pages}''')
answers = {{}}
for page in pages:
    answer = browser.get(page)
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    answers[page] = "" if answer.status_code == 200 else f"{{answer.status_code}} {{body.decode()}}"
print(json.dumps(answers))
"""


@contextmanager
def running(pooler: Pooler, log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process with the one setting, ended politely."""
    with log.open("ab") as errors:
        process = subprocess.Popen(
            command, cwd=PROJECT, env=pooler.environment(), stdin=subprocess.DEVNULL, stdout=errors, stderr=errors
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(120)


def value(pooler: Pooler, query: str, *values: Any) -> Any:
    with pooler.server.connect() as connection:
        row = connection.execute(query, values).fetchone()
        return row[0] if row else None


def test_every_page_is_there(pooler: Pooler, queue: str) -> None:
    with Client(pooler.url) as client:
        client.send_batch(queue, ["a", "b"])
        (message,) = client.receive(queue)
        client.nack(message, reason="rejected")
    value(pooler, "select signalbox.aggregate_counters()")  # no upkeep runs, and nothing is left to do for it
    pages = [page.format(queue=queue) for page in PAGES]

    said = pooler.manage("shell", "-c", LOOK.format(pages=json.dumps(pages)))

    answers = json.loads(said.splitlines()[-1])
    assert {page: what for page, what in answers.items() if what} == {}
    assert len(answers) == len(pages)
    assert pooler.left_behind() == {}


def test_upkeep_keeps_the_queues_in_order(pooler: Pooler, queue: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Client(pooler.url) as client:
        client.send_batch(queue, list(range(50)))
        with running(pooler, log, *pooler.server.manage("upkeep")):
            wait_until(lambda: value(pooler, LEADS) == 1, "upkeep leads")
            wait_until(lambda: value(pooler, FOLDED, queue) > 0, "upkeep aggregates")
            wait_until(
                lambda: client.send(queue, "activity") and value(pooler, FLOORS, queue) > 0, "upkeep keeps floors"
            )
            assert len(client.receive(queue, 50)) == 50
    assert "failed" not in log.read_text()
    assert pooler.left_behind() == {}


def test_a_partition_is_detached_without_a_session(pooler: Pooler) -> None:
    days = "select count(*) from pg_inherits where inhparent = 'signalbox.settled'::regclass"
    code = (
        "from psycopg import sql; from queues.database.connections import connect\n"
        "from queues.upkeep.detaching import detach\n"
        "with connect('a test') as c:\n"
        '    name = c.execute("select max(relname) from pg_inherits join pg_class on oid = inhrelid'
        " where inhparent = 'signalbox.settled'::regclass and relname <> 'settled_default'\").fetchone()[0]\n"
        "    detach(c, sql.Identifier('signalbox', 'settled'), name)\n"
    )
    before = value(pooler, days)

    pooler.manage("shell", "-c", code)

    assert value(pooler, days) == before - 1
    assert pooler.left_behind() == {}


def test_a_worker_works(pooler: Pooler, queue: str, tmp_path: Path) -> None:
    handler = tmp_path / "handling.py"
    handler.write_text("def handle(message):\n    return None\n")
    with Client(pooler.url) as client:
        client.send_batch(queue, list(range(60)))
    log = tmp_path / "log"
    command = [sys.executable, "-m", "signalbox.worker", queue, f"{handler}:handle", "--concurrency", "2"]
    acked = (
        "select coalesce(sum(cardinality(s.message_ids)), 0)::int from signalbox.settled s"
        " join signalbox.queue q using (queue_id) where q.name = %s"
    )

    with running(pooler, log, *command, "--dsn", pooler.url, "--poll-interval", "0.2"):
        wait_until(lambda: value(pooler, acked, queue) == 60, "the worker acks")

    assert "Could not" not in log.read_text()
    assert pooler.left_behind() == {}


def test_the_http_api_sends_receives_and_waits(pooler: Pooler, queue: str, tmp_path: Path) -> None:
    key = pooler.manage("apikey", "create", f"key-of-{queue}", "--scopes", "*").split()[-1]
    port, log = free_port(), tmp_path / "log"
    address = f"http://127.0.0.1:{port}"
    server = [sys.executable, "-m", "uvicorn", "console.asgi:application", "--port", str(port), "--log-level=warning"]

    with running(pooler, log, *server):
        wait_until(lambda: _answers(f"{address}/healthz"), "the console answers")
        with connect(address, key) as client:
            message_id = client.send(queue, {"n": 1})
            (message,) = client.receive(queue)
            assert (message.id, message.payload) == (message_id, {"n": 1})
            assert client.ack(message)
            assert client.receive(queue, wait_seconds=1) == []
            client.send(queue, {"n": 2})
            (late,) = client.receive(queue, wait_seconds=20)
            assert client.nack(late, reason="rejected") == "dead"
    assert pooler.left_behind() == {}


def test_a_redrive_runs_through_celery(pooler: Pooler, queue: str, tmp_path: Path) -> None:
    with Client(pooler.url) as client:
        client.send_batch(queue, ["a", "b", "c"])
        for message in client.receive(queue, 3):
            assert client.nack(message, reason="rejected") == "dead"
    plan = json.loads(pooler.manage("redrive", "plan", f"queue:{queue}", "--json"))["id"]
    celery = [sys.executable, "-m", "celery", "-A", "console", "worker", "--concurrency=1", "--loglevel=WARNING"]

    with running(pooler, tmp_path / "log", *celery, "-n", "pooled@here"):
        job = json.loads(pooler.manage("redrive", "run", str(plan), "--json"))["id"]
        state = "select state from signalbox.redrive where redrive_id = %s"
        wait_until(lambda: value(pooler, state, job) == "done", "Celery redrives")

    with Client(pooler.url) as client:
        assert sorted(str(message.payload) for message in client.receive(queue, 10)) == ["a", "b", "c"]
    assert pooler.left_behind() == {}


def test_what_needs_a_session_says_so(pooler: Pooler) -> None:
    for command in (["migrate"], ["pipeline", "archive", "--to", "/nowhere"]):
        ended = subprocess.run(
            pooler.server.manage(*command), env=pooler.environment(), cwd=PROJECT, capture_output=True, text=True
        )
        assert ended.returncode == 1, ended.stdout
        assert "DATABASE_DIRECT_URL" in ended.stderr


def test_a_role_that_does_not_know_where_the_tables_are_is_found_out(pooler: Pooler) -> None:
    with pooler.server.connect() as connection:
        connection.execute(f"alter role {ROLE} in database signalbox reset search_path")
        pooler.forget_sessions()
        try:
            command = pooler.server.manage("check", "--database", "default")
            ended = subprocess.run(command, env=pooler.environment(), cwd=PROJECT, capture_output=True, text=True)
            assert "queues.E003" in ended.stderr
        finally:
            pooler.manage("migrate", direct=True)
            pooler.forget_sessions()
    assert "no issues" in pooler.manage("check", "--database", "default")


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=30).status_code in (200, 503)
    except requests.RequestException:
        return False
