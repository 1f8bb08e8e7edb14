"""The database cluster and its postmaster, as the keeper drives them."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from psycopg import pq
from psycopg.conninfo import make_conninfo

from queues.database.embedded import locks
from queues.database.embedded.account import WORKING_DIRECTORY, Account, reachable_install, server_account
from queues.database.embedded.binaries import EmbeddedPostgresError, install_directory
from queues.database.embedded.folders import SOCKET_NAME, Folders, claim_folder

DATABASE = USER = "signalbox"
START_SECONDS = 60  # crash recovery included
STOP_SECONDS = 30
LOG_BYTES = 10 * 1024 * 1024  # a larger log is put aside at the next start

# Written once into postgresql.conf, where an operator may change them.
SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "256MB",
    "max_locks_per_transaction": "256",  # the log is partitioned, and every partition is a lock
    "max_prepared_transactions": "16",
    "max_wal_size": "2GB",
    "jit": "off",  # compiling costs more than any of our short statements
    "timezone": "UTC",
    "log_timezone": "UTC",
}
LOCALE = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
# One statement a line. The search path is for people in psql: our own connections bring theirs.
CREATE_DATABASE = f"create database {DATABASE}\nalter database {DATABASE} set search_path = signalbox, public\n"


def conninfo(folders: Folders, database: str = DATABASE) -> str:
    return make_conninfo(host=str(folders.socket), user=USER, dbname=database, connect_timeout=5)


def is_accepting(folders: Folders) -> bool:
    """Tell whether a server takes connections, even when all of them are in use."""
    return pq.PGconn.ping(conninfo(folders).encode()) == pq.Ping.OK


class Server:
    """The server, for the process that holds the keeper's lock."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self.account: Account = server_account(folders.data)
        self.programs = reachable_install(install_directory(), self.account) / "bin"
        self._postmaster: subprocess.Popen[bytes] | None = None  # None as well when another keeper started it

    def start(self) -> None:
        """Start the postmaster and wait until it accepts connections. No server process may be left."""
        claim_folder(self.folders.socket, self.account.uid, self.account.gid)
        self._initialise()
        self._remove_stale_pid_files()
        self._postmaster = self._launch()
        deadline = time.monotonic() + START_SECONDS
        while not is_accepting(self.folders):
            if self._postmaster.poll() is not None:
                raise EmbeddedPostgresError("the server ended while starting")
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(f"the server was not ready after {START_SECONDS} s")
            time.sleep(locks.POLL_SECONDS)

    def stop(self) -> None:
        """Stop the server that runs on the data: end its sessions, and write a checkpoint."""
        for mode in ("fast", "immediate"):
            if not locks.is_held(self.folders.server_lock):
                return
            try:
                self._run("pg_ctl", "stop", "--mode", mode, "--wait", "--timeout", str(STOP_SECONDS))
                self.wait_until_dead()
                return
            except EmbeddedPostgresError as error:
                print(f"keeper: {error}", flush=True)  # noqa: T201  standard output is the server's log

    def wait_until_dead(self) -> None:
        """Wait until the last process of the server has ended, whichever keeper started it."""
        os.close(locks.exclusive(self.folders.server_lock))
        if self._postmaster is not None:
            self._postmaster.wait()

    def _initialise(self) -> None:
        """Create the database cluster under another name and rename it, so that it is complete when it exists."""
        if self.folders.data.exists():
            return
        draft = self.folders.root / "data.initializing"
        if draft.exists():
            shutil.rmtree(draft)
        claim_folder(draft, self.account.uid, self.account.gid)
        settings = [f"--set={name}={value}" for name, value in SETTINGS.items()]
        # Only the owner and root reach the socket in its private folder: there is nothing more to prove.
        access = [f"--username={USER}", "--auth=trust"]
        self._run("initdb", "--no-instructions", *access, *LOCALE, *settings, data=draft)
        self._run("postgres", "--single", "postgres", data=draft, feed=CREATE_DATABASE)
        draft.rename(self.folders.data)

    def _remove_stale_pid_files(self) -> None:
        """Remove the pid files of a dead server when another process has its pid now.

        PostgreSQL recognises a pid without a process. A pid that another process has (after a reboot, in a new
        container), or that a zombie still has, would make PostgreSQL refuse to start.
        """
        if not WORKING_DIRECTORY.exists():
            return
        for path in (self.folders.data / "postmaster.pid", self.folders.socket / f"{SOCKET_NAME}.lock"):
            if path.exists() and not self._names_a_server_on_our_data(path):
                path.unlink(missing_ok=True)

    def _names_a_server_on_our_data(self, pid_file: Path) -> bool:
        try:
            pid = int(pid_file.read_text().split("\n", 1)[0])
            return Path(f"/proc/{pid}/cwd").readlink() == self.folders.data.resolve()
        except (OSError, ValueError):
            return False  # not a process, or not one of ours

    def _launch(self) -> "subprocess.Popen[bytes]":
        """Start the postmaster, which inherits the server's lock, as does every process that it forks."""
        lock = locks.exclusive(self.folders.server_lock)
        beside = self.folders.socket.parent == self.folders.root
        command = [
            str(self.programs / "postgres"),
            *("-c", f"unix_socket_directories={'../socket' if beside else self.folders.socket}"),
            *("-c", "listen_addresses="),
            *("-c", "port=5432"),
        ]
        try:
            return self.account.launch(command, self.folders.data, inherited_lock=lock)
        finally:
            os.close(lock)

    def _run(self, program: str, *arguments: str, data: Path | None = None, feed: str = "") -> None:
        self.account.run([str(self.programs / program), *arguments], data or self.folders.data, feed)
