"""The folders of the embedded server, under SIGNALBOX_HOME/postgres.

postgres/          ours: lock files and the server's log
postgres/data      the server account's: the database cluster
postgres/socket    the server account's: the Unix socket, unless its path is too long for one
"""

import hashlib
import os
from pathlib import Path

from queues.database.embedded.binaries import EmbeddedPostgresError

SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_PATH_BYTES = 103  # the limit of the strictest platform, without the closing zero


class Folders:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / "postgres"
        self.data = self.root / "data"
        self.log = self.root / "server.log"
        self.users_lock = self.root / "users.lock"
        """Held shared by every process that uses the server."""
        self.keeper_lock = self.root / "keeper.lock"
        """The lock of the keeper; its content is the keeper's process id."""
        self.server_lock = self.root / "server.lock"
        """The lock of every process of the server itself, from postmaster to the last orphaned backend."""

    @property
    def socket(self) -> Path:
        """The folder of the socket: beside the data, or in /tmp when that path is too long for a socket."""
        beside = self.root / "socket"
        if len(os.fsencode(beside / SOCKET_NAME)) <= SOCKET_PATH_BYTES:
            return beside
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]
        return Path("/tmp") / f"signalbox-{digest}"  # noqa: S108  claim_folder refuses a stranger's

    def prepare(self) -> None:
        """Create the home and our folder in it; folders that exist keep their owner and mode."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The server passes through here to its socket, and as root it runs under another account.
        mode = 0o711 if os.geteuid() == 0 else 0o700
        try:
            self.root.mkdir(mode=mode)
        except FileExistsError:
            return
        self.root.chmod(mode)  # whatever the umask


def claim_folder(path: Path, uid: int, gid: int) -> None:
    """Make `path` a private folder of the account, or refuse a folder of another account."""
    try:
        path.mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(path, uid, gid)
    except FileExistsError:
        status = path.lstat()
        if path.is_symlink() or not path.is_dir() or status.st_uid != uid or status.st_mode & 0o077:
            raise EmbeddedPostgresError(
                f"{path} is not a private folder of user {uid}: remove it, or choose another SIGNALBOX_HOME"
            ) from None
