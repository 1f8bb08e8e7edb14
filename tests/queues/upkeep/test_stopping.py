"""Wait of a process that runs until it is stopped: a signal may arrive at any moment of a wait."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from metrics.management.commands.alerts import Evaluator
from queues.stopping import Stopping, on_signals
from queues.upkeep.upkeep import Upkeep
from tests.races.sessions import finish, start

LONG_SECONDS = 60.0


def during(wait: Callable[[], object], call: Callable[[], None]) -> int:
    """Call so at each step of Python within a wait, as a signal's handler is called; how many steps there were."""
    steps = 0

    def traced(frame: FrameType, kind: str, argument: Any) -> Any:
        nonlocal steps
        frame.f_trace_opcodes = True
        if frame.f_code.co_filename != __file__:
            steps += 1
            call()
        return traced

    others = sys.gettrace()
    sys.settrace(traced)
    try:
        wait()
    finally:
        sys.settrace(others)
    return steps


@pytest.mark.parametrize("is_set", [False, True])
def test_a_handler_may_set_it_at_any_moment_of_a_wait(is_set: bool) -> None:
    asked = Stopping()
    if is_set:
        asked.set()

    assert during(lambda: asked.wait(0.001), asked.set) > 10

    assert asked.is_set()
    assert asked.wait(0)


def test_a_wait_ends_at_its_timeout() -> None:
    asked = Stopping()
    assert not asked.wait(0.001)
    assert not asked.is_set()


def test_a_signal_ends_the_wait_of_the_main_thread() -> None:
    asked, earlier = Stopping(), signal.getsignal(signal.SIGALRM)
    on_signals(asked.set, signal.SIGALRM)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        began = time.monotonic()
        assert asked.wait(LONG_SECONDS)
        assert time.monotonic() - began < LONG_SECONDS / 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)


def test_present_and_later_waiters_are_notified() -> None:
    asked = Stopping()
    waiting = [start(asked.wait, LONG_SECONDS) for _ in range(3)]

    asked.set()

    assert [finish(call) for call in waiting] == [True] * 3
    assert asked.wait(LONG_SECONDS)


@pytest.mark.parametrize("process", [Upkeep(), Evaluator()])
def test_the_processes_that_a_signal_stops_wait_with_it(process: Upkeep | Evaluator) -> None:
    assert during(lambda: process.stopping.wait(0.001), process.stop) > 10
    assert process.stopping.is_set()
