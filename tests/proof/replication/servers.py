"""PostgreSQL servers of one's own of a chosen version, which write the WAL that logical replication needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg.conninfo import make_conninfo

from queues.database.embedded.account import reachable_install, server_account
from queues.database.embedded.folders import claim_folder
from queues.database.embedded.server import DATABASE, USER
from tests.chaos.server import CONNECT_SECONDS, PROJECT

SETTINGS = {
    "wal_level": "logical",
    "listen_addresses": "",
    "port": "5432",
    "fsync": "off",
    "max_locks_per_transaction": "256",
    "timezone": "UTC",
}
SCHEMA = "signalbox"


class LogicalServer:
    """Server within a `with` block, with an empty database; `install` is the folder of PostgreSQL's programs."""

    def __init__(self, install: Path) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="signalbox-logical-"))
        self.home.chmod(0o711)
        self.data, self.socket = self.home / "data", self.home / "socket"
        self.account = server_account(self.data)
        self.programs = reachable_install(install, self.account) / "bin"
        self.url = f"postgresql:///{DATABASE}?host={self.socket}&user={USER}"

    def __enter__(self) -> Self:
        try:
            for folder in (self.data, self.socket):
                claim_folder(folder, self.account.uid, self.account.gid)
            self._run("initdb", f"--username={USER}", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
            settings = SETTINGS | {"unix_socket_directories": str(self.socket)}
            options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
            self._run("pg_ctl", "start", "--wait", "--silent", "--log=server.log", f"--options={options}")
            with self.connect("postgres") as connection:
                connection.execute(f"create database {DATABASE}".encode())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if (self.data / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "--wait", "--mode=immediate")
        shutil.rmtree(self.home, ignore_errors=True)

    def connect(self, database: str = DATABASE) -> psycopg.Connection[Any]:
        url = make_conninfo(self.url, dbname=database, connect_timeout=CONNECT_SECONDS)
        return psycopg.connect(url, autocommit=True)

    def migrate(self) -> None:
        environment = os.environ | {"DATABASE_URL": self.url, "ALLOW_UNSAFE_DATABASE": "true"}
        subprocess.run([sys.executable, PROJECT / "manage.py", "migrate", "-v0"], env=environment, check=True)

    def copy_schema(self, of: LogicalServer) -> None:
        """The tables of another server, and none of its rows."""
        dump = [self.programs / "pg_dump", "--schema-only", f"--schema={SCHEMA}", of.url]
        load = [self.programs / "psql", "--quiet", "--set=ON_ERROR_STOP=1", self.url]
        schema = subprocess.run(dump, check=True, capture_output=True).stdout
        subprocess.run(load, input=schema, check=True, capture_output=True)

    def _run(self, program: str, *arguments: str) -> None:
        self.account.run([str(self.programs / program), *arguments], self.data)
