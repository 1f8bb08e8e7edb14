"""Faults of processes: killed without a word, or stopped for longer than their leases last."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from tests.chaos.company.queues import VISIBILITY_SECONDS
from tests.chaos.faults.nemesis import Doing, Nemesis, hold
from tests.chaos.faults.schedule import Fault


def _kill(kind: str) -> Doing:
    def kill(nemesis: Nemesis, fault: Fault) -> bool:
        victim = nemesis.victim(fault, kind)
        if victim is not None:
            victim.signal(signal.SIGKILL)
        return victim is not None

    return kill


def _stop(kind: str) -> Doing:
    def stop(nemesis: Nemesis, fault: Fault) -> bool:
        victim = nemesis.victim(fault, kind)
        if victim is None:
            return False
        victim.signal(signal.SIGSTOP)
        hold(fault.seconds + (VISIBILITY_SECONDS if fault.pick < 0.5 else 0.0))
        victim.signal(signal.SIGCONT)
        return True

    return stop


def _kill_child(kind: str) -> Doing:
    def kill_child(nemesis: Nemesis, fault: Fault) -> bool:
        worker = nemesis.victim(fault, kind)
        children = children_of(worker.pid) if worker is not None and worker.pid else []
        if children:
            with suppress(ProcessLookupError):
                os.kill(children[int(fault.pick * len(children))], signal.SIGKILL)
        return bool(children)

    return kill_child


def children_of(pid: int) -> list[int]:
    try:
        lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:  # the process has ended already
        return []
    return [int(child) for text in lists for child in text.split()]


FAULTS: dict[str, Doing] = {
    "kill client": _kill("client"),
    "stop client": _stop("client"),
    "kill worker": _kill("worker"),
    "stop worker": _stop("worker"),
    "kill worker's child": _kill_child("worker"),
    "kill Celery worker": _kill("celery worker"),
    "kill Celery's child": _kill_child("celery worker"),
    "stop Celery worker": _stop("celery worker"),
    "kill beat": _kill("beat"),
    "kill upkeep": _kill("upkeep"),
    "stop upkeep": _stop("upkeep"),
}
