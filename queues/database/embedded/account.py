"""Choose the account of the server, since PostgreSQL refuses root.

A plain user runs it as itself. Root hands it to `postgres` or `nobody`, who may be unable to pass through
the folders above the data (a 0700 home) or above the binaries. No permission is ever changed for that:
the server reaches the data through its working directory, which it inherits open, and binaries out of its reach are
copied to the system's cache.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from queues.database.embedded.binaries import EmbeddedPostgresError

CANDIDATES = ("postgres", "nobody")
# In every process of the server this names its own working directory, which is the data folder.
WORKING_DIRECTORY = Path("/proc/self/cwd")
CACHE = Path("/var/cache/signalbox")
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int

    def run(self, command: list[str], directory: Path, feed: str = "") -> str:
        """Run a PostgreSQL program on the data in `directory`; return its output, or raise an error that has it."""
        process = self._popen(command, directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        output, _ = process.communicate(feed.encode())
        text = output.decode(errors="replace").strip()
        if process.returncode != 0:
            raise EmbeddedPostgresError(f"{Path(command[0]).name} failed ({process.returncode}): {text}")
        return text

    def launch(self, command: list[str], directory: Path, inherited_lock: int) -> "subprocess.Popen[bytes]":
        """Start a program that outlives this process and holds one of its locks."""
        return self._popen(command, directory, stdin=subprocess.DEVNULL, stdout=None, inherit=[inherited_lock])

    @property
    def _is_other(self) -> bool:
        return self.uid != os.geteuid()

    def _popen(
        self, command: list[str], directory: Path, stdin: int, stdout: int | None, inherit: Sequence[int] = ()
    ) -> "subprocess.Popen[bytes]":
        # The child enters the directory first and changes the account then. Its working directory is a path by which it
        # names the directory without passing through the folders above.
        data = WORKING_DIRECTORY if self._is_other and WORKING_DIRECTORY.exists() else directory
        return subprocess.Popen(
            command,
            cwd=directory,
            env={**ENVIRONMENT, "PGDATA": str(data)},
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.STDOUT if stdout else None,
            pass_fds=inherit,
            start_new_session=True,
            user=self.uid if self._is_other else None,
            group=self.gid if self._is_other else None,
            extra_groups=[] if self._is_other else None,
        )


def server_account(data: Path) -> Account:
    """Choose the account that owns the data, or will own new data."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    if data.exists() and (owner := data.stat().st_uid) != 0:
        return Account(owner, data.stat().st_gid)
    for name in CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise EmbeddedPostgresError(
        "PostgreSQL refuses to run as root and there is no account to run it as: "
        f"create one of {', '.join(CANDIDATES)}, start Signalbox as a plain user, or set DATABASE_URL"
    )


def reachable_install(install: Path, account: Account, cache: Path = CACHE) -> Path:
    """Return `install`, or a copy in `cache` when the account cannot pass through the folders above it."""
    if _version(install, account):
        return install
    version = _version(install, Account(os.geteuid(), os.getegid()))
    copy = cache / f"postgresql-{version}"
    if not copy.exists():
        _copy(install, copy)
    reachable = copy / install.parent.name / install.name
    if not _version(reachable, account):
        raise EmbeddedPostgresError(f"user {account.uid} can execute PostgreSQL neither in {install} nor in {copy}")
    return reachable


def _version(install: Path, account: Account) -> str | None:
    """Read the version, such as 18.4; None when the account cannot execute the programs."""
    try:
        return account.run([str(install / "bin" / "initdb"), "--version"], Path("/")).split()[-1]
    except (PermissionError, EmbeddedPostgresError):
        return None


def _copy(install: Path, copy: Path) -> None:
    """Copy aside, then rename: of several processes that copy at once, each finds a whole copy."""
    copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{copy.name}.", dir=copy.parent))
    package = install.parent
    unneeded = shutil.ignore_patterns("include", "*.a")
    shutil.copytree(install, draft / package.name / install.name, symlinks=True, ignore=unneeded)
    # The programs look for their libraries where the wheel puts them: in a folder beside its package.
    if (libraries := package.with_name(f"{package.name}.libs")).is_dir():
        shutil.copytree(libraries, draft / libraries.name)
    draft.chmod(0o755)
    try:
        draft.rename(copy)
    except OSError:  # another process was first
        shutil.rmtree(draft)
