"""Disks that are really full: a small one of memory where this process may mount it, else a bound on what a file may
hold, which the kernel keeps for the server's processes. Either way PostgreSQL's own write fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class SmallDisk:
    """A folder of its own with so little room that some large messages fill it; `make_room` gives it more."""

    folder: Path
    make_room: Callable[[], None]


@contextmanager
def small_disk(megabytes: int, owner: tuple[int, int], postmaster: int, *, mounts: bool = True) -> Iterator[SmallDisk]:
    """A mounted tmpfs of this size; where nothing can be mounted, a folder, and files that grow no further."""
    folder = Path(tempfile.mkdtemp(prefix="sb-disk-"))
    folder.chmod(0o755)
    mounted = mounts and _mount(folder, f"size={megabytes}m")
    inner = folder / "space"
    inner.mkdir(mode=0o700)
    os.chown(inner, *owner)
    try:
        if mounted:
            yield SmallDisk(inner, lambda: _remount(folder))
        else:
            with bounded_files(postmaster, megabytes * MEGABYTE) as unbind:
                yield SmallDisk(inner, unbind)
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", folder], check=True)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def bounded_files(postmaster: int, most_bytes: int) -> Iterator[Callable[[], None]]:
    """No process of the server lets a file grow beyond this, until the function is called; then as before."""

    def bind(most: str) -> None:
        for process in _with_children(postmaster):
            _limit(process, most)

    bind(str(most_bytes))
    try:
        yield lambda: bind("unlimited")
    finally:
        bind("unlimited")


def _limit(pid: int, most: str) -> None:
    """Act as the owner of the process: root may lack the right to limit another user's process."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        owner = {"user": process.uids().real, "group": process.gids().real, "extra_groups": []}
        done = subprocess.run(
            ["prlimit", f"--pid={pid}", f"--fsize={most}:"],
            capture_output=True,
            text=True,
            check=False,
            **(owner if os.geteuid() == 0 else {}),  # type: ignore[call-overload]
        )
        assert done.returncode == 0 or not psutil.pid_exists(pid), done.stderr


def _with_children(postmaster: int) -> list[int]:
    with suppress(psutil.NoSuchProcess):
        return [postmaster, *(child.pid for child in psutil.Process(postmaster).children(recursive=True))]
    return []


def _mount(folder: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "signalbox-test", str(folder)]
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


def _remount(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=512m", str(folder)], check=True)
