"""Folder for the tests' databases and files: in memory, where fsync costs nothing, if there is enough."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
NEEDED_BYTES = 4 << 30
"""A whole run by two processes holds some 1.5 GB at its peak."""


def prefer_memory(memory: Path = MEMORY) -> None:
    """Make temporary files in memory; TMPDIR names another place."""
    if "TMPDIR" not in os.environ and _is_usable(memory):
        os.environ["TMPDIR"] = str(memory)  # for the processes that tests start, too
        tempfile.tempdir = None


def _is_usable(memory: Path) -> bool:
    """Containers often have a small one, or one from which no program may be started."""
    if not memory.is_dir() or not os.access(memory, os.W_OK | os.X_OK):
        return False
    return shutil.disk_usage(memory).free >= NEEDED_BYTES and not os.statvfs(memory).f_flag & os.ST_NOEXEC
