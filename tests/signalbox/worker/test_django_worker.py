"""`manage.py worker`: handlers find Django set up, and healthy connections."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from urllib.parse import quote, urlencode

import pytest
from psycopg.conninfo import conninfo_to_dict

from queues import bodies
from signalbox import Client
from tests.signalbox.worker.workers import PATIENCE, eventually


@pytest.fixture
def start(dsn, tmp_path):
    started = []

    def start_process(queue, handler, *options):
        started.append(
            subprocess.Popen(
                [
                    sys.executable,
                    "manage.py",
                    "worker",
                    queue,
                    f"tests.signalbox.worker.django_handlers:{handler}",
                    *options,
                ],
                env=os.environ
                | {"DATABASE_URL": f"postgresql:///?{urlencode(conninfo_to_dict(dsn), quote_via=quote)}"},
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield start_process
    for process in started:
        process.terminate()
        process.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("handler", ["ask_the_orm", "ask_the_orm_async", "break_the_connection"])
def test_handlers_use_the_orm(client, make_queue, tmp_path, start, handler):
    queue = make_queue(backoff_base_seconds=0.1)
    file = tmp_path / "found"
    client.send(queue, {"queue": queue, "file": str(file)})
    start(queue, handler, "--poll-interval=0.2", "--concurrency=2")
    assert eventually(lambda: file.exists() and file.read_text()) == queue


@pytest.mark.proof
@pytest.mark.parametrize("handler", ["ask_the_orm", "ask_the_orm_async"])
def test_handlers_get_large_payloads_from_the_storage_of_the_settings(
    dsn, queue, tmp_path, start, handler, django_db_setup
):
    file = tmp_path / "found"
    with Client(dsn, bodies=bodies.store()) as client:
        client.send(queue, {"queue": queue, "file": str(file), "text": "x" * 300_000})
    start(queue, handler, "--poll-interval=0.2")
    assert eventually(lambda: file.exists() and file.read_text()) == queue


@pytest.mark.proof
def test_stops_on_a_signal(client, queue, tmp_path, start):
    file = tmp_path / "found"
    client.send(queue, {"queue": queue, "file": str(file)})
    process = start(queue, "ask_the_orm")
    eventually(file.exists)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0


def test_says_what_is_wrong(start):
    process = start("nowhere", "ask_the_orm")
    assert process.wait(PATIENCE) == 1
    assert "nowhere" in process.stderr.read()
