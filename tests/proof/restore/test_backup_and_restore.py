"""A database with messages in every state is backed up and restored by the commands of docs/run/backup.md."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from queues.database.embedded import EmbeddedPostgres, binary
from tests.chaos.server import PROJECT, ChaosServer
from tests.proof.restore import judging
from tests.proof.restore.contents import Contents, burn, fill

pytestmark = pytest.mark.timeout(900)

DOCUMENT = PROJECT / "docs" / "run" / "backup.md"
BURNT = 30_000
"""Transactions of the old server, so that its ids are ahead of a new one's."""
BETWEEN = 10_000
"""Transactions of these messages are behind the last aggregation."""


def commands(heading: str) -> str:
    """The commands that the document has under a heading."""
    text = DOCUMENT.read_text()
    found = re.search(rf"^#+ {re.escape(heading)}\n.*?^```\n(.*?)^```", text, re.M | re.S)
    assert found is not None, heading
    return found[1]


def run(shell: str, environment: dict[str, str], **variables: str) -> str:
    paths = [str(binary("pg_dump").parent), str(Path(sys.executable).parent), environment["PATH"]]
    done = subprocess.run(
        ["bash", "-euc", shell],
        cwd=PROJECT,
        env=environment | variables | {"PATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass
class Source:
    """Running server: its contents, its backup, and its ids at the last aggregation and at the backup."""

    server: ChaosServer
    made: Contents
    dump: Path
    ids: tuple[int, int]


def transaction_id(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("select pg_snapshot_xmax(pg_current_snapshot())::text::bigint").fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture(scope="module")
def source() -> Iterator[Source]:
    folder = Path(tempfile.mkdtemp(prefix="signalbox-backup-"))
    with ChaosServer() as server, server.connect() as connection:
        burn(connection, BURNT)
        folded: list[int] = []

        def later() -> None:
            folded.append(transaction_id(connection))
            burn(connection, BETWEEN)

        made = fill(connection, later)
        dump = folder / "signalbox.dump"
        environment = server.environment(DATABASE_URL=server.url, BACKUP=str(dump))
        run(commands("Taking a dump"), environment)
        yield Source(server, made, dump, (folded[0], transaction_id(connection)))
    shutil.rmtree(folder)


@dataclass
class Target:
    """A new server, empty."""

    home: Path
    server: EmbeddedPostgres

    def environment(self, database: str = "signalbox") -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        home = {"SIGNALBOX_HOME": str(self.home), "DATABASE_URL": self.server.url(database)}
        return inherited | home | {"HTTPS_ONLY": "false"}

    def connect(self, database: str = "signalbox") -> psycopg.Connection[Any]:
        return psycopg.connect(self.server.url(database), autocommit=True)

    def make(self, database: str, beyond: int) -> None:
        """An empty database, when the server's transaction ids have come so far."""
        with self.connect() as connection:
            burn(connection, max(0, beyond - transaction_id(connection)))
            connection.execute(f"create database {database} template template0".encode())


@pytest.fixture
def target() -> Iterator[Target]:
    home = Path(tempfile.mkdtemp(prefix="signalbox-restored-"))
    server = EmbeddedPostgres(home)
    try:
        yield Target(home, server)
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def judge(connection: psycopg.Connection[Any], made: Contents) -> None:
    judging.check_counters_stay_right(connection)
    judging.check_archive(connection)
    judging.check_messages(connection, made)
    judging.check_groups(connection, made)
    judging.check_dead(connection, made)
    judging.check_stream(connection, made)
    judging.check_it_goes_on(connection, made)


def test_a_dump_is_restored_whole_whatever_the_new_servers_transaction_ids(source: Source, target: Target) -> None:
    """Ids of the new server: behind the dump, between its last aggregation and its end, and ahead."""
    target.server.ensure_running()
    folded, ended = source.ids
    third = (ended - folded) // 3

    for database, beyond in (("behind", 0), ("between", folded + third), ("forgotten", folded + 2 * third)):
        target.make(database, beyond)
        restoring = commands("Restoring a dump")
        if database == "forgotten":  # repaired by upkeep when the restore was not announced
            restoring = "\n".join(line for line in restoring.splitlines() if "queues restored" not in line)
        said = run(restoring, target.environment(database), BACKUP=str(source.dump))
        with target.connect(database) as connection:
            assert database == "behind" or folded < transaction_id(connection) < ended
            if database == "forgotten":
                judging.fold(connection)
                judging.check_counters_stay_right(connection)
                judging.check_archive(connection)
                continue
            assert "The backup is of another PostgreSQL cluster" in said
            assert re.search(r"\d+ messages are in flight", said)
            judge(connection, source.made)

    target.make("ahead", ended + 1_000)
    run(commands("Restoring a dump"), target.environment("ahead"), BACKUP=str(source.dump))
    with target.connect("ahead") as connection:
        judge(connection, source.made)


def test_a_copy_of_the_files_is_restored_whole(source: Source, target: Target) -> None:
    target.server.folders.prepare()
    data = target.server.folders.data
    run(commands("Copying the files"), source.server.environment(), PGURL=source.server.url, BACKUP=str(data))
    owner = source.server.socket.parent.stat()
    for path in [data, *data.rglob("*")]:
        os.chown(path, owner.st_uid, owner.st_gid)
    target.server.ensure_running()

    said = run("python manage.py migrate --verbosity=0; python manage.py queues restored", target.environment())

    assert "The backup is of this PostgreSQL cluster" in said
    with target.connect() as connection:
        judge(connection, source.made)
