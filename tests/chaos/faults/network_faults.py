"""Faults of the network between clients and server, by the proxy."""

from __future__ import annotations

from tests.chaos.faults.nemesis import Doing, Nemesis, hold
from tests.chaos.faults.schedule import Fault


def _delay(nemesis: Nemesis, fault: Fault) -> None:
    nemesis.proxy.weather.delay_seconds = 0.02 + 0.1 * fault.pick
    hold(fault.seconds)
    nemesis.proxy.weather.delay_seconds = 0.0


def _black_hole(nemesis: Nemesis, fault: Fault) -> None:
    """Block all traffic; afterwards break every connection, so that nothing arrives late."""
    nemesis.proxy.weather.black_hole = True
    hold(fault.seconds)
    nemesis.proxy.weather.black_hole = False
    nemesis.proxy.reset_all()


def _reset(nemesis: Nemesis, _: Fault) -> bool:
    return nemesis.proxy.reset_all() > 0


def _swallow_answers(nemesis: Nemesis, fault: Fault) -> bool:
    """Cut the connection after the server has done the work and before the client gets the answer."""
    before = nemesis.proxy.weather.swallowed
    nemesis.proxy.weather.swallow_answers = 1 + int(4 * fault.pick)
    hold(fault.seconds)
    nemesis.proxy.weather.swallow_answers = 0
    return nemesis.proxy.weather.swallowed > before


def _swallow_commits(nemesis: Nemesis, fault: Fault) -> bool:
    before = nemesis.proxy.weather.swallowed
    nemesis.proxy.weather.swallow_commits = 1 + int(2 * fault.pick)
    hold(fault.seconds)
    nemesis.proxy.weather.swallow_commits = 0
    return nemesis.proxy.weather.swallowed > before


FAULTS: dict[str, Doing] = {
    "delay network": _delay,
    "black hole": _black_hole,
    "reset connections": _reset,
    "swallow answers": _swallow_answers,
    "swallow commits": _swallow_commits,
}
