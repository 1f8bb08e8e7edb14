"""Where the embedded server keeps its files, under SIGNALBOX_HOME/postgres.

postgres/          ours: lock files and the server's log
postgres/data      the server account's: the database cluster
postgres/socket    the server account's: the Unix socket, unless its path is too long for one
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from queues.embedded.errors import EmbeddedPostgresError

SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_PATH_BYTES = 103  # what the strictest platform's sockaddr_un holds, without the closing zero


@dataclass(frozen=True)
class Folders:
    home: Path

    @property
    def root(self) -> Path:
        return self.home / "postgres"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def log(self) -> Path:
        return self.root / "server.log"

    @property
    def users_lock(self) -> Path:
        """Held shared by every process that uses the server."""
        return self.root / "users.lock"

    @property
    def keeper_lock(self) -> Path:
        """Held by the keeper; its content is the keeper's process id."""
        return self.root / "keeper.lock"

    @property
    def server_lock(self) -> Path:
        """Held by every process of the server itself, from postmaster to the last orphaned backend."""
        return self.root / "server.lock"

    @property
    def socket(self) -> Path:
        """The socket's folder: beside the data, or in /tmp when that path would be too long to connect to."""
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
    """Make `path` a private folder of the account, or refuse one that is somebody else's."""
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
