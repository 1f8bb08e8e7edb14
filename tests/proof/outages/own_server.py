"""PostgreSQL that a test may stop, fill and make read-only, used by no other test."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.chaos.server import ChaosServer
from tests.races.sessions import until

PASSWORD = "correct horse battery"
SETTINGS = {"log_min_messages": "warning", "max_wal_size": "64MB", "min_wal_size": "32MB"}


class OwnServer(ChaosServer):
    """Server that stops and starts on command; `url` never changes."""

    def __init__(self) -> None:
        super().__init__(SETTINGS)

    @property
    def data(self) -> Path:
        return self._server.folders.data

    def stop(self) -> None:
        """Gone, with its keeper, until `start`: who connects is refused."""
        self._server.stop()

    def start(self) -> None:
        """Start the server again, whatever its state."""

        def runs() -> bool:
            try:
                self._server.ensure_running()
                self.connect().close()
            except (psycopg.OperationalError, RuntimeError):
                return False
            return True

        until(runs, "a server that takes connections")

    def restart(self) -> None:
        self.stop()
        self.start()

    def set_read_only(self, read_only: bool) -> None:
        """Set the mode of new sessions; going read-only ends the other sessions, coming back leaves them alone."""
        with self.connect() as connection:
            connection.execute("set default_transaction_read_only = off")
            word = sql.SQL("on" if read_only else "off")
            connection.execute(sql.SQL("alter database signalbox set default_transaction_read_only = {}").format(word))
            if read_only:
                connection.execute(
                    "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
                    " where backend_type = 'client backend' and pid <> pg_backend_pid()"
                )

    def run(self, *arguments: str, **variables: str) -> str:
        """Output of a command of manage.py."""
        done = subprocess.run(
            self.manage(*arguments), env=self.environment(**variables), capture_output=True, text=True, check=True
        )
        return done.stdout

    def administrator(self, name: str = "ada") -> str:
        """Make a superuser with PASSWORD; return the name."""
        self.run("createsuperuser", "--noinput", f"--username={name}", "--email=", DJANGO_SUPERUSER_PASSWORD=PASSWORD)
        return name

    def key(self, name: str) -> str:
        """A key of the HTTP API that may everything."""
        return self.run("apikey", "create", name, "--scopes", "all").split()[-1]

    def settings(self) -> dict[str, str]:
        """Environment of a process over this database that leaves its start and stop to the test."""
        return {"DATABASE_URL": self.url}

    def value(self, statement: str, *parameters: Any) -> Any:
        with self.connect() as connection:
            row = connection.execute(statement.encode(), parameters).fetchone()
        return row[0] if row else None
