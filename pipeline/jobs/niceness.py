"""Low CPU priority for processes of the pipeline, and their end with the process that started them."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

LOWEST = 19
AUTOGROUP = Path("/proc/self/autogroup")
"""Priority of this session: Linux may divide CPU time among sessions before processes (man 7 sched)."""


def stand_back() -> None:
    """Give this process and its future children the lowest CPU priority.

    Niceness is not enough: Linux interrupts a process for one that wakes up only under the policy SCHED_IDLE.
    """
    os.nice(LOWEST)
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # a system without autogroups
            AUTOGROUP.write_text(str(LOWEST))


def end_with_input() -> None:
    """Terminate this process when standard input ends, as it does when the parent process dies."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="pipeline-end", daemon=True).start()
