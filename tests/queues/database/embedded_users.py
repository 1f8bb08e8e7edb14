"""Real processes that use an embedded server, for the tests that start, leave and kill them."""

import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import psycopg

from queues.database.embedded import EmbeddedPostgres
from queues.database.embedded.binaries import install_directory

PROJECT = Path(__file__).resolve().parents[3]

# Says where the server is as soon as it was reached, then uses it until its standard input closes.
USE = """
import sys
from queues.database.embedded import EmbeddedPostgres
print(EmbeddedPostgres(sys.argv[1]).ensure_running(), flush=True)
sys.stdin.read()
"""


@dataclass
class Runtime:
    """Way to run Python: user, interpreter and folder of the project."""

    python: str = sys.executable
    project: Path = PROJECT
    uid: int | None = None
    gid: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def popen(self, code: str, *arguments: str, **options: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self.python, "-c", code, *arguments],
            cwd=self.project,
            env={"PATH": os.environ["PATH"], **self.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else [],
            **options,
        )


class User:
    """A process that joined the server in `home` and holds on to it."""

    def __init__(self, home: Path, runtime: Runtime | None = None, code: str = USE) -> None:
        self.process = (runtime or Runtime()).popen(code, str(home))
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.communicate()[1]

    def leave(self) -> None:
        self.process.communicate()
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def start_at_once(home: Path, count: int) -> list[User]:
    """Users whose processes all begin before the first of them has reached the server."""
    processes = [Runtime().popen(USE, str(home)) for _ in range(count)]
    users = []
    for process in processes:
        user = User.__new__(User)
        user.process, user.url = process, process.stdout.readline().strip()
        assert user.url, process.communicate()[1]
        users.append(user)
    return users


def query(url: str, statement: str) -> list[tuple]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def postmaster_pid(home: Path) -> int:
    return int((home / "postgres/data/postmaster.pid").read_text().split("\n", 1)[0])


def keeper_pid(home: Path) -> int:
    return int((home / "postgres/keeper.lock").read_text())


def kill_and_wait(pid: int) -> None:
    """SIGKILL a process that is not our child, and wait for the kernel to have ended it."""
    descriptor = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        assert select.select([descriptor], [], [], 90)[0], f"process {pid} outlived SIGKILL"
    finally:
        os.close(descriptor)


def plain_user_runtime(folder: Path) -> Runtime:
    """Python and the project for a user who is not root, copied to where that user can reach them."""
    if os.geteuid() != 0:
        return Runtime()  # we are one
    nobody = pwd.getpwnam("nobody")
    standard = Path(sysconfig.get_path("stdlib"))
    library = folder / "lib" / standard.name
    unneeded = shutil.ignore_patterns("site-packages", "dist-packages", "test", "tests", "config-*", "__pycache__")
    shutil.copytree(standard, library, ignore=unneeded, symlinks=True)
    for shared in standard.parent.glob("libpython*"):
        if shared.is_file():
            shutil.copy2(shared, folder / "lib")
    python = folder / "python"
    shutil.copy2(Path(sys.executable).resolve(), python)
    copy_modules(("psycopg", "psycopg_binary", "typing_extensions"), folder)
    shutil.copytree(PROJECT / "queues", folder / "queues", ignore=shutil.ignore_patterns("__pycache__"))
    copy_wheel(folder)
    environment = {"PYTHONHOME": str(folder), "LD_LIBRARY_PATH": str(folder / "lib")}
    return Runtime(str(python), folder, nobody.pw_uid, nobody.pw_gid, environment)


def copy_wheel(folder: Path) -> Path:
    """Copy PostgreSQL as the wheel lays it out; returns what install_directory() would."""
    install = install_directory()
    package = install.parent
    shutil.copytree(install, folder / package.name / install.name, symlinks=True)
    (folder / package.name / "__init__.py").touch()
    shutil.copytree(package.with_name(f"{package.name}.libs"), folder / f"{package.name}.libs")
    return folder / package.name / install.name


def copy_modules(names: Sequence[str], folder: Path) -> None:
    for name in names:
        origin = Path(find_spec(name).origin)
        if origin.name == "__init__.py":
            shutil.copytree(origin.parent, folder / name)
        else:
            shutil.copy2(origin, folder)
        libraries = origin.parent.with_name(f"{name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, folder / libraries.name)


def stop_and_remove(home: Path) -> None:
    EmbeddedPostgres(home).stop()
    shutil.rmtree(home)
