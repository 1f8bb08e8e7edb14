"""PostgreSQL for the benchmark alone, in a temporary home, migrated like any installation."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from queues.database.embedded import EmbeddedPostgres

MANAGE = Path(__file__).resolve().parents[1] / "manage.py"
# No checkpoint may fall into a measurement: the first change of a page after a checkpoint logs the whole page.
SETTINGS = {"checkpoint_timeout": "1h", "max_wal_size": "16GB"}
UPKEEP_STOP_SECONDS = 120


class ScratchServer:
    """Server that exists within a `with` block only."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="signalbox-bench-"))
        self._server = EmbeddedPostgres(self.home)
        self.url = self._server.url()

    def __enter__(self) -> "ScratchServer":
        try:
            self._server.ensure_running()
            with self.connect() as connection:
                for name, value in SETTINGS.items():
                    connection.execute(f"alter system set {name} = '{value}'")
                connection.execute("select pg_reload_conf()")
            subprocess.run(self._manage("migrate", "--verbosity=0"), env=self._environment(), check=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        shutil.rmtree(self.home)

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.url, autocommit=True)

    @contextmanager
    def upkeep(self) -> Iterator[None]:
        """Run upkeep: it moves the claim floors, aggregates the counters, announces and expires."""
        process = subprocess.Popen(self._manage("upkeep"), env=self._environment(), stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            process.wait(UPKEEP_STOP_SECONDS)

    def _manage(self, *arguments: str) -> list[str]:
        return [sys.executable, str(MANAGE), *arguments]

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        return {**inherited, "SIGNALBOX_HOME": str(self.home), "HTTPS_ONLY": "false"}
