"""A primary and its standby on this machine, by the embedded server's programs: one can be killed, the other promoted.

Each has a home of its own as any embedded server has. A killed server stays dead, with its keeper, until it is started
come back.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg.conninfo import make_conninfo

from queues.database.embedded import EmbeddedPostgres, locks
from queues.database.embedded.account import reachable_install, server_account
from queues.database.embedded.binaries import install_directory
from queues.database.embedded.server import DATABASE, USER
from tests.chaos.server import PATIENCE_SECONDS, ChaosServer

STANDBY = "standby"


class Pair:
    """Pair of servers within a `with` block, with the interface of a chaos run's server."""

    def __init__(self) -> None:
        self.primary = ChaosServer({"wal_keep_size": "512MB"})
        self.standby_home = Path(tempfile.mkdtemp(prefix="signalbox-standby-"))
        self.standby = EmbeddedPostgres(self.standby_home)
        self.home = self.primary.home
        # Both servers run under another account when the tests are root's: it passes through.
        for home in (self.primary.home, self.standby_home):
            home.chmod(0o711)

    def __enter__(self) -> Self:
        try:
            self.primary.__enter__()
            self._copy()
            self.standby.ensure_running()
            self.wait_until(self._is_streaming, "the standby streams")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for server in (self.standby, self.primary._server):
            with suppress(Exception):
                server.stop()
        for home in (self.standby_home, self.primary.home):
            shutil.rmtree(home, ignore_errors=True)

    @property
    def url(self) -> str:
        """Addresses of both servers, the first primary first."""
        hosts = f"{self.primary._server.folders.socket},{self.standby.folders.socket}"
        return f"postgresql:///{DATABASE}?user={USER}&host={hosts}"

    def manage(self, *arguments: str) -> list[str]:
        return self.primary.manage(*arguments)

    def environment(self, **more: str) -> dict[str, str]:
        return self.primary.environment(DATABASE_URL=self.url, **more)

    def connect_to_primary(self, **options: Any) -> psycopg.Connection[Any]:
        return self.primary.connect(**options)

    def connect_to_standby(self, **options: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(self.standby.url(), autocommit=True, connect_timeout=10, **options)

    connect = connect_to_standby
    """After the promotion."""

    def connect_patiently(self) -> psycopg.Connection[Any]:
        """Connect to the server that accepts writes."""
        found: list[psycopg.Connection[Any]] = []

        def connected() -> bool:
            with suppress(psycopg.OperationalError):
                found.append(psycopg.connect(self.url, autocommit=True, target_session_attrs="read-write"))
            return bool(found)

        self.wait_until(connected, "one of the two takes writes")
        return found[0]

    def wait_for_each_commit(self) -> None:
        """Answer commits from now on only when the standby has them too."""
        with self.connect_to_primary() as connection:
            connection.execute("alter system set synchronous_standby_names = '*'")
            connection.execute("select pg_reload_conf()")
            self.wait_until(
                lambda: connection.execute("select sync_state from pg_stat_replication").fetchall() == [("sync",)],
                "the standby is synchronous",
            )

    def stop_sending(self) -> None:
        """The standby hears nothing any more, and the primary does not know."""
        with self.connect_to_primary() as connection:
            for (pid,) in connection.execute("select pid from pg_stat_replication").fetchall():
                os.kill(pid, signal.SIGSTOP)

    def kill_primary(self) -> None:
        """Kill every process of the server at once, with the process that would restart it."""
        server = self.primary._server
        os.kill(int(server.folders.keeper_lock.read_text()), signal.SIGKILL)
        postmaster = self.primary.postmaster()
        children = _children(postmaster)
        os.kill(postmaster, signal.SIGKILL)
        for pid in children:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.wait_until(lambda: not locks.is_held(server.folders.server_lock), "the primary is dead")

    def revive_primary(self) -> None:
        """Start the old primary again, without knowledge of the promotion."""
        self.primary._server.ensure_running()

    def promote(self) -> None:
        """The standby becomes the primary."""
        self._run("pg_ctl", "promote", "--wait", "--timeout", str(int(PATIENCE_SECONDS)))

    def _copy(self) -> None:
        """Base backup for the standby, and the source of its stream."""
        folders, account = self.standby.folders, self._account
        folders.prepare()
        folders.data.mkdir(mode=0o700)
        os.chown(folders.data, account.uid, account.gid)
        source = make_conninfo(
            host=str(self.primary._server.folders.socket), user=USER, application_name=STANDBY, connect_timeout=10
        )
        self._run(
            "pg_basebackup", "--pgdata=.", "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast",
            f"--dbname={source}",
        )  # fmt: skip

    def _run(self, program: str, *arguments: str) -> None:
        programs = reachable_install(install_directory(), self._account) / "bin"
        self._account.run([str(programs / program), *arguments], self.standby.folders.data)

    @property
    def _account(self) -> Any:
        return server_account(self.primary._server.folders.data)

    def _is_streaming(self) -> bool:
        with self.connect_to_primary() as connection:
            return connection.execute("select state from pg_stat_replication").fetchall() == [("streaming",)]

    @staticmethod
    def wait_until(condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, what
            time.sleep(0.05)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
