"""The release before: what was recorded for it, and databases that it has made."""

from __future__ import annotations

import gzip
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from queues.database.embedded import binary
from tests.console.servers import environment_of
from tests.proof.upgrade.programs import PROJECT
from tests.proof.upgrade.record import CLIENT, RELEASED, SCHEMA

OUTDATED = "the checksum of the release before"


@contextmanager
def new_database(dsn: str) -> Iterator[str]:
    """Create a database, yield its address, and drop it."""
    name = f"upgrade_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(dsn, autocommit=True) as observer:
        observer.execute(f"create database {name} template template0".encode())
        yield make_conninfo(dsn, dbname=name)
        observer.execute(f"drop database {name} with (force)".encode())


@pytest.fixture(scope="session")
def recorded(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the release before; until there is one, record an installation at the first migrations."""
    if (RELEASED / SCHEMA).exists():
        return RELEASED
    folder = tmp_path_factory.mktemp("release")
    with new_database(dsn) as address:
        subprocess.run(
            [sys.executable, "-m", "tests.proof.upgrade.record", folder],
            cwd=PROJECT,
            env=environment_of(address),
            check=True,
        )
    return folder


@pytest.fixture
def released_client(recorded: Path) -> Path:
    return recorded / CLIENT


@pytest.fixture
def empty(dsn: str) -> Iterator[str]:
    """Yield the URL of a database with nothing in it."""
    with new_database(dsn) as address:
        yield environment_of(address)["DATABASE_URL"]


@pytest.fixture
def another(dsn: str) -> Iterator[str]:
    """Yield the URL of a second database with nothing in it."""
    with new_database(dsn) as address:
        yield environment_of(address)["DATABASE_URL"]


@pytest.fixture
def released(empty: str, recorded: Path) -> str:
    """Return the URL of a database as the release before made it, with other checksums of its scripts than today's."""
    subprocess.run(
        [binary("psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--output=/dev/null", empty],
        input=gzip.decompress((recorded / SCHEMA).read_bytes()),
        capture_output=True,
        check=True,
    )
    with psycopg.connect(empty) as connection:
        connection.execute("update signalbox.sql_script set checksum = %s", [OUTDATED])
    return empty


@pytest.fixture
def migrating(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Yield a starter of `manage.py migrate`, as docs/run/production.md says; its output is in migrate.log."""
    started: list[subprocess.Popen[bytes]] = []

    def start(url: str) -> subprocess.Popen[bytes]:
        environment = environment_of(url) | {"DATABASE_URL": url, "SIGNALBOX_HOME": str(tmp_path)}
        with (tmp_path / "migrate.log").open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "manage.py", "migrate", "--verbosity=0"],
                cwd=PROJECT,
                env=environment,
                stdout=log,
                stderr=log,
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
