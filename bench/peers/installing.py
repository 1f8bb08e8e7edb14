"""Install the peers in temporary places: Python's in a virtual environment, the others by npm."""

import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
PROJECT = HERE.parents[1]


class CannotInstall(RuntimeError):  # noqa: N818 - what happened
    """Failure of an installer."""


def missing_tools() -> list[str]:
    """Requirement of the peers that this machine lacks: Node.js 20 or newer, with npm."""
    return [tool for tool in ("node", "npm") if shutil.which(tool) is None]


@dataclass(frozen=True)
class Peer:
    """Queue that the benchmark runs beside Signalbox: its program in `programs/`."""

    name: str
    program: str

    def command(self, home: Path, *arguments: str) -> list[str]:
        """Command to run in `home`; arguments: action, server address, number of messages, payload."""
        if self is SIGNALBOX:
            start = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(PROJECT)!r}); import {self.program}"]
            return [*start, *arguments]
        interpreter = str(home / "venv" / "bin" / "python") if self.program.endswith(".py") else "node"
        return [interpreter, str(PROGRAMS / self.program), *arguments]


SIGNALBOX = Peer("signalbox", "bench.peers.programs.signalbox_sends")
PEERS = (
    Peer("procrastinate 3.10.0", "procrastinate_jobs.py"),
    Peer("pgqueuer 1.6.0", "pgqueuer_jobs.py"),
    Peer("pg-boss 10.4.2", "pg_boss_jobs.mjs"),
    Peer("graphile-worker 0.16.6", "graphile_worker_jobs.mjs"),
)


@contextmanager
def installed(progress: Callable[[str], None]) -> Iterator[Path]:
    """Make a folder in which the programs of all peers run."""
    with TemporaryDirectory(prefix="signalbox-peers-") as folder:
        home = Path(folder)
        progress("installing the peers")
        venv.create(home / "venv", with_pip=True)
        requirements = str(HERE / "requirements.txt")
        _run([str(home / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--no-deps", "-r", requirements], home)
        shutil.copy(HERE / "package.json", home)
        _run(["npm", "install", "--silent", "--no-package-lock", "--no-audit", "--no-fund"], home)
        yield home


def _run(command: list[str], home: Path) -> None:
    process = subprocess.run(command, cwd=home, capture_output=True, text=True)
    if process.returncode:
        raise CannotInstall(f"{' '.join(command)}\n{process.stdout}\n{process.stderr}")
