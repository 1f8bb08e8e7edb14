"""Low priority for processes of the pipeline, which end with the process that started them.

Batches can wait; a queue cannot.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

LOWEST = 19
AUTOGROUP = Path("/proc/self/autogroup")
"""Linux may share its cores among sessions first, and only within one by what its processes are (man 7 sched)."""


def stand_back() -> None:
    """Give way to all other processes, with all that this one will start; its session too where it is its own.

    Niceness alone is little: Linux interrupts no nice process for one that wakes up, but an idle one (SCHED_IDLE).
    """
    os.nice(LOWEST)
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # another system, or one whose sessions have groups of their own
            AUTOGROUP.write_text(str(LOWEST))


def end_with_input() -> None:
    """Be terminated when the other end of standard input closes, as it does with its process, be it by kill -9."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="pipeline-end", daemon=True).start()
