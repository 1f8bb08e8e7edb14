"""The process that starts the server, starts it again when it was killed, and stops it after its last user.

The keeper only waits for locks, so the kernel wakes it however the other processes ended. If the keeper is killed, the
server keeps running, and the next process that uses it starts another keeper, which takes the server over.

Run as `python -m queues.database.embedded.keeper <home>`; the command returns when the keeper runs in the background.
"""

import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from queues.database.embedded import locks
from queues.database.embedded.binaries import EmbeddedPostgresError
from queues.database.embedded.folders import Folders
from queues.database.embedded.server import Server

PROBE_SECONDS = 1  # other processes take the lock for a moment, to see whether it is held


class StopRequested(BaseException):
    """SIGTERM arrived; not an Exception, so that nothing on the way handles it."""


class Keeper:
    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self.server = Server(folders)
        self.unused = threading.Event()
        self.starting_or_stopping = threading.Lock()

    def keep(self) -> None:
        """Keep the server running until its last user is gone, or until SIGTERM."""
        try:
            while not self.unused.is_set():
                with self.starting_or_stopping:
                    if not self.unused.is_set() and not locks.is_held(self.folders.server_lock):
                        self.server.start()
                self.server.wait_until_dead()
        except StopRequested:
            self.server.stop()

    def stop_when_unused(self) -> None:
        """Stop the server after its last user. A new user waits for the users' lock until this process has ended."""
        locks.exclusive(self.folders.users_lock)
        with self.starting_or_stopping:
            self.unused.set()
            self.server.stop()


def main(home: str) -> int:
    folders = Folders(Path(home))
    lock = locks.try_exclusive(folders.keeper_lock, wait_seconds=PROBE_SECONDS)
    if lock is None:
        return 0  # another process was first
    if os.fork() > 0:
        os._exit(0)  # the child keeps the lock, and no process waits for it
    signal.signal(signal.SIGTERM, _request_stop)
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    try:
        keeper = Keeper(folders)
        stopping = threading.Thread(target=keeper.stop_when_unused, daemon=True)
        stopping.start()
        keeper.keep()
        if keeper.unused.is_set():
            stopping.join()
    except EmbeddedPostgresError as error:
        print(f"keeper: {error}", flush=True)  # noqa: T201  standard output is the server's log
        return 1
    return 0


def _request_stop(_signal: int, _frame: FrameType | None) -> None:
    raise StopRequested


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
