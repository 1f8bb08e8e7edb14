"""A process's use of the embedded server, from joining to leaving."""

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, urlencode

from queues.database.embedded import locks
from queues.database.embedded.binaries import EmbeddedPostgresError
from queues.database.embedded.folders import Folders
from queues.database.embedded.server import DATABASE, LOG_BYTES, START_SECONDS, STOP_SECONDS, USER, is_accepting

SPAWN_ATTEMPTS = 3
LOG_LINES_SHOWN = 12
PROJECT = Path(__file__).resolve().parents[3]

# One lock for each home in this process, however many objects use it.
_memberships: dict[Path, int] = {}
_membership_guard = threading.Lock()


class EmbeddedPostgres:
    """The server whose data is in `home`; creating the object does not start it."""

    def __init__(self, home: Path | str) -> None:
        self.folders = Folders(Path(home).absolute())

    def url(self, database: str = DATABASE) -> str:
        """Return the address of a database, for psycopg, psql and DATABASE_URL."""
        query = urlencode({"host": str(self.folders.socket)}, safe="/")
        return f"postgresql://{USER}@/{quote(database, safe='')}?{query}"

    def join(self) -> None:
        """Become a user until this process and its forks have ended; waits while the server is stopping."""
        with _membership_guard:
            if self.folders.home in _memberships:
                return
            try:
                self.folders.prepare()
                _memberships[self.folders.home] = locks.shared(self.folders.users_lock)
            except PermissionError as error:
                raise EmbeddedPostgresError(
                    f"{error.filename} belongs to another user: set SIGNALBOX_HOME to a folder of your own"
                ) from error
            if len(_memberships) == 1:
                atexit.register(_leave_all)

    def ensure_running(self) -> str:
        """Join, start the server unless it runs, and return its address once it answers."""
        self.join()
        deadline = time.monotonic() + START_SECONDS
        attempts = 0
        while not (is_accepting(self.folders) and self.is_kept()):
            if not self.is_kept():
                if attempts == SPAWN_ATTEMPTS:
                    raise EmbeddedPostgresError(f"PostgreSQL does not start; {self._log_tail()}")
                attempts += 1
                self._spawn_keeper()
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(f"PostgreSQL does not answer after {START_SECONDS} s; {self._log_tail()}")
            time.sleep(locks.POLL_SECONDS)
        return self.url()

    def leave(self) -> None:
        """Stop being a user; the server stops by itself after its last user."""
        with _membership_guard:
            descriptor = _memberships.pop(self.folders.home, None)
        if descriptor is None:
            return
        os.close(descriptor)
        if not self.is_kept() and self.is_running():
            self._spawn_keeper()  # the keeper was killed, and the server needs another to stop it

    def stop(self) -> None:
        """Stop the server although it may have users: the next one that needs it starts it again."""
        self.leave()
        if self.is_kept():
            with suppress(ProcessLookupError):  # it has ended since
                os.kill(int(self.folders.keeper_lock.read_text()), signal.SIGTERM)
        self.wait_until_stopped()

    def wait_until_stopped(self) -> None:
        deadline = time.monotonic() + 2 * STOP_SECONDS
        while self.is_running() or self.is_kept():
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError("PostgreSQL is still running; it may have other users")
            time.sleep(locks.POLL_SECONDS)

    def is_running(self) -> bool:
        """Tell whether any process of the server lives: starting, serving or stopping."""
        return locks.is_held(self.folders.server_lock)

    def is_accepting(self) -> bool:
        """Tell whether the server takes connections now, by connecting."""
        return is_accepting(self.folders)

    def is_kept(self) -> bool:
        """Tell whether a keeper lives that will restart and stop the server."""
        return locks.is_held(self.folders.keeper_lock)

    def _spawn_keeper(self) -> None:
        """Start a keeper and wait until it holds the keeper's lock, or has ended and logged why."""
        if self.folders.log.exists() and self.folders.log.stat().st_size > LOG_BYTES:
            self.folders.log.replace(self.folders.log.with_suffix(".log.1"))
        descriptor = os.open(self.folders.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            subprocess.run(
                [sys.executable, "-m", "queues.database.embedded.keeper", str(self.folders.home)],
                cwd=PROJECT,
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                start_new_session=True,  # an interrupt at the user's terminal must not reach the server
                check=False,
            )
        finally:
            os.close(descriptor)

    def _log_tail(self) -> str:
        lines = self.folders.log.read_text(errors="replace").splitlines() if self.folders.log.exists() else []
        return "\n".join([f"{self.folders.log} ends with:", *lines[-LOG_LINES_SHOWN:]])


def _leave_all() -> None:
    for home in list(_memberships):
        EmbeddedPostgres(home).leave()
