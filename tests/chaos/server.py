"""PostgreSQL of the run, with data, keeper and socket in a temporary home: killing it affects no other test."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from queues.database.embedded import EmbeddedPostgres
from queues.database.embedded.folders import SOCKET_NAME
from tests.prepared import prepare

PROJECT = Path(__file__).resolve().parents[2]
SETTINGS = {"max_connections": "150", "shared_buffers": "128MB", "log_min_messages": "panic"}
PATIENCE_SECONDS = 180.0
CONNECT_SECONDS = 120


class ChaosServer:
    """Server that exists within a `with` block only."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="signalbox-chaos-"))
        self._settings = SETTINGS | (settings or {})
        self._server = EmbeddedPostgres(self.home)
        self.url = self._server.url()
        self.socket = self._server.folders.socket / SOCKET_NAME

    def __enter__(self) -> Self:
        try:
            prepare(self._server.folders)
            with (self._server.folders.data / "postgresql.auto.conf").open("a") as settings:
                settings.writelines(f"{name} = '{value}'\n" for name, value in self._settings.items())
            self._server.ensure_running()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def connect(self, database: str | None = None, **options: Any) -> psycopg.Connection[Any]:
        url = self._server.url(database) if database else self.url
        return psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS, **options)

    def url_of(self, database: str) -> str:
        return self._server.url(database)

    def clone(self, database: str) -> None:
        """Copy the first database under this name; it must have no connections."""
        with self.connect("postgres") as connection:
            connection.execute(f"create database {database} template signalbox strategy file_copy".encode())

    def drop(self, database: str) -> None:
        with self.connect("postgres") as connection:
            connection.execute(f"drop database {database} with (force)".encode())

    def connect_patiently(self) -> psycopg.Connection[Any]:
        """Connect, and repeat while the server refuses or restarts."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self.connect()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def postmaster(self) -> int:
        return int((self._server.folders.data / "postmaster.pid").read_text().split("\n", 1)[0])

    def end(self, number: signal.Signals) -> None:
        """Send the postmaster a signal that ends it, and wait until its keeper has another that answers."""
        before = self.postmaster()
        os.kill(before, number)
        self.wait_until_replaced(before)

    def wait_until_replaced(self, before: int) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                if self.postmaster() != before:
                    self.connect().close()
                    return
            except (OSError, ValueError, psycopg.OperationalError):
                pass
            time.sleep(0.02)
        raise TimeoutError(f"the server did not come back within {PATIENCE_SECONDS:g} s")

    def manage(self, *arguments: str) -> list[str]:
        return [sys.executable, str(PROJECT / "manage.py"), *arguments]

    def environment(self, **more: str) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        paths = {"SIGNALBOX_HOME": str(self.home), "PYTHONPATH": str(PROJECT)}
        unsafe = {"ALLOW_UNSAFE_DATABASE": "true"} if self._settings.get("fsync") == "off" else {}
        return {**inherited, **paths, **unsafe, "HTTPS_ONLY": "false", **more}
