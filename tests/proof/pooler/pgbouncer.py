"""A real PgBouncer in transaction mode in front of a PostgreSQL of the test's own, with few connections to share."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Self

import psycopg

from queues.database.embedded.account import server_account
from tests.chaos.server import PATIENCE_SECONDS, PROJECT, ChaosServer
from tests.ports import free_port

POOL_SIZE = 3
"""Fewer than there are clients: each gets now one session, now another."""

ROLE = "pooled"
"""Not of the schema's name, which would be found without any search path."""

# Other startup parameters are refused, as PgBouncer does by default.
SETTINGS = """
[databases]
signalbox = host={socket} port=5432 dbname=signalbox user={role}

[pgbouncer]
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 300
auth_type = any
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
logfile = {folder}/log
pidfile = {folder}/pid
query_wait_timeout = 110
"""

# What a session has that it did not begin with.
LEFT_BEHIND = {
    "prepared": "select name from pg_prepared_statements",
    "listening": "select * from pg_listening_channels()",
    "locks": "select objid::text from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
    "cursors": "select name from pg_cursors where is_holdable",
    "tables": "select relname from pg_class where relpersistence = 't' and relkind = 'r'",
    "settings": (
        "select name || ' = ' || setting from pg_settings where source = 'session' and name not in"
        " ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings')"
    ),
}
"""Settings that PgBouncer keeps for each client are left out."""


class Pooler:
    """PgBouncer within a `with` block, with its server."""

    def __init__(self) -> None:
        self.server = ChaosServer()
        self.server.home.chmod(0o711)  # the pooler passes through, under the server's account
        self.folder = Path(tempfile.mkdtemp(prefix="signalbox-pooler-"))
        self.port = free_port()
        self.url = f"postgresql://{ROLE}@127.0.0.1:{self.port}/signalbox"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.server.__enter__()
            with self.server.connect() as connection:  # the embedded server is kinder than others
                connection.execute("alter database signalbox reset search_path")
                connection.execute(f"create role {ROLE} login superuser")
            command = self.server.manage("migrate", "--verbosity=0")
            subprocess.run(command, env=self.environment(direct=True), check=True)
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        self.server.__exit__(None, None, None)
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, *, direct: bool = False, **more: str) -> dict[str, str]:
        """Environment with the one setting, and the pooler's address."""
        past = {"DATABASE_DIRECT_URL": self.server.url} if direct else {}
        return self.server.environment(DATABASE_URL=self.url, DATABASE_POOLER="transaction", **past, **more)

    def manage(self, *arguments: str, direct: bool = False) -> str:
        """Output of a command. A failure shows its errors."""
        ended = subprocess.run(
            self.server.manage(*arguments),
            env=self.environment(direct=direct),
            cwd=PROJECT,
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
        return ended.stdout

    def left_behind(self) -> dict[str, list[str]]:
        """State that is left in sessions of the pool. No other process may work at the time."""
        found: dict[str, list[str]] = {}
        with ExitStack() as opened:
            sessions = [opened.enter_context(closing(self.connect())) for _ in range(POOL_SIZE)]
            for session in sessions:
                session.execute("begin")  # each holds one of them
            for session in sessions:
                for kind, query in LEFT_BEHIND.items():
                    found.setdefault(kind, []).extend(str(row[0]) for row in session.execute(query).fetchall())
        return {kind: names for kind, names in found.items() if names}

    @contextmanager
    def limit_of_long_polls(self, limit: int) -> Iterator[None]:
        """Limit the long polls of each tenant."""
        change = "update signalbox.tenant set max_long_polls = %s"
        with self.server.connect() as connection:
            connection.execute(change, [limit])
            try:
                yield
            finally:
                connection.execute(change, [0])

    def forget_sessions(self) -> None:
        """End those of the pool, as RECONNECT would: the next ones begin as new sessions do."""
        with self.server.connect() as connection:
            others = "backend_type = 'client backend' and pid <> pg_backend_pid() and datname = 'signalbox'"
            connection.execute(f"select pg_terminate_backend(pid, 60000) from pg_stat_activity where {others}")

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True, prepare_threshold=None)

    def _start(self) -> None:
        account = server_account(self.server._server.folders.data)
        settings = self.folder / "pgbouncer.ini"
        socket = self.server._server.folders.socket
        settings.write_text(
            SETTINGS.format(socket=socket, pool_size=POOL_SIZE, role=ROLE, port=self.port, folder=self.folder)
        )
        command = [program(), str(settings)]
        if os.geteuid() == 0:
            os.chown(self.folder, account.uid, account.gid)
            command = [command[0], "-u", pwd.getpwuid(account.uid).pw_name, command[1]]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                log = self.folder / "log"
                assert time.monotonic() < deadline, log.read_text() if log.exists() else "PgBouncer does not start"
                time.sleep(0.05)
            else:
                return


def program() -> str:
    """Debian puts it where only root looks."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    assert found is not None, "pgbouncer is not installed: tests/system_packages.sh says how"
    return found


def wait_until(condition: Callable[[], bool], what: str = "") -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
