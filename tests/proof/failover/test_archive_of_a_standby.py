"""An archive run that reads a standby by a role that may only read: what is not replayed yet is waited for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from queues.database import grants
from signalbox import Client
from tests.chaos.server import PROJECT
from tests.proof.failover.pair import Pair

pytestmark = [pytest.mark.timeout(900)]

QUEUE = "archived"
SESSIONS = "select count(*) from pg_stat_activity where usename = 'archiver' and application_name ~ %s"
WAITS, READS = ["standby$"], ["(settled|failures|dead_letters)$"]


def test_a_run_reads_all_that_it_counted_from_a_standby_that_is_behind(tmp_path: Path) -> None:
    with Pair() as pair, pair.connect_to_standby() as standby:
        with Client(pair.primary.url) as client, pair.connect_to_primary() as primary:
            primary.execute("create role archiver login")
            grants.write(primary, {"archiver": ["archiver"]})
            client.create_queue(QUEUE)
            pair.wait_until(lambda: _knows(standby, "archiver"), "the role on the standby")
            standby.execute("select pg_wal_replay_pause()")
            client.send_batch(QUEUE, list(range(20)))
            client.ack_batch(client.receive(QUEUE, 20))
        reader = urlencode(conninfo_to_dict(pair.standby.url(), user="archiver"))
        variables = pair.environment(ARCHIVE_READ_URL=f"postgresql:///?{reader}", ARCHIVE_URL=str(tmp_path / "archive"))

        with subprocess.Popen(
            [sys.executable, "manage.py", "pipeline", "archive", "--json"],
            cwd=PROJECT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as run:  # fmt: skip
            pair.wait_until(
                lambda: standby.execute(SESSIONS, WAITS).fetchone() != (0,) or run.poll() is not None,
                "a task that waits",
            )
            assert (run.poll(), standby.execute(SESSIONS, READS).fetchone()) == (None, (0,))
            standby.execute("select pg_wal_replay_resume()")
            said, errors = run.communicate(timeout=300)

        assert run.returncode == 0, errors
        assert json.loads(said)["rows"] == 20


def _knows(standby: psycopg.Connection[Any], role: str) -> bool:
    return standby.execute("select true from pg_roles where rolname = %s", [role]).fetchone() is not None
