"""File locks (flock) that end with their last holder, even after kill -9.

A lock belongs to the open file, so a forked child holds its parent's locks too; closing the descriptor ends the hold of
one process only. So this module has no function that unlocks.
"""

import fcntl
import os
import time
from pathlib import Path

POLL_SECONDS = 0.02


def shared(path: Path) -> int:
    """Hold `path` together with others; waits while another process holds it alone. Returns the descriptor."""
    return _locked(path, fcntl.LOCK_SH)


def exclusive(path: Path) -> int:
    """Hold `path` alone; waits until every other holder is gone. Returns the descriptor."""
    return _locked(path, fcntl.LOCK_EX)


def try_exclusive(path: Path, wait_seconds: float = 0) -> int | None:
    """Hold `path` alone, or None when it is still held after `wait_seconds`."""
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return None
            time.sleep(POLL_SECONDS)


def is_held(path: Path) -> bool:
    """Tell whether any process holds `path`; a file that does not exist yet is not held."""
    if not path.exists():
        return False
    descriptor = try_exclusive(path)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def _locked(path: Path, operation: int) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, operation)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
