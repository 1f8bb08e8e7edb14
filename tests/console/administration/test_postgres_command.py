import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from queues.database.embedded import EmbeddedPostgres

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="sb-"))
    yield folder
    EmbeddedPostgres(folder).stop()
    shutil.rmtree(folder)


def manage(home: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": os.environ["PATH"], "SIGNALBOX_HOME": str(home), **variables}
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.proof
def test_an_operator_sees_reaches_and_stops_the_embedded_server(home: Path) -> None:
    assert manage(home, "postgres", "status").stdout == f"stopped: {home}/postgres/data\n"

    EmbeddedPostgres(home).ensure_running()
    assert manage(home, "postgres", "status").stdout == f"running: {home}/postgres/data\n"
    url = manage(home, "postgres", "url").stdout.strip()
    with psycopg.connect(url) as connection:
        assert connection.execute("select current_database()").fetchone() == ("signalbox",)

    assert manage(home, "postgres", "stop").stdout == "stopped\n"
    assert manage(home, "postgres", "status").stdout == f"stopped: {home}/postgres/data\n"


def test_dbshell_starts_the_server_and_looks_into_our_schema(home: Path) -> None:
    shell = manage(home, "dbshell", "--", "--tuples-only", "--no-align", "--command=show search_path")

    assert shell.stdout == "signalbox, public\n", shell.stderr


def test_the_command_has_no_say_over_another_server(home: Path) -> None:
    refused = manage(home, "postgres", "stop", DATABASE_URL="postgresql://db/orders")

    assert refused.returncode == 1
    assert "DATABASE_URL is set" in refused.stderr
