"""The kept server, with something in the place of Spark: one at a time, replaced when it dies, gone when unused."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.on_spark import server
from pipeline.on_spark.server import Address, NoServer, Place, use
from pipeline.on_spark.serving import own_port
from queues.embedded import locks
from tests.races.sessions import DEADLINE_SECONDS, finish, start, until

NEVER = 86_400
SLEEPER = [sys.executable, "-c", "import sys; sys.stdin.read()"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A home without a server; one that is started there stays until it is told to end."""
    keep(monkeypatch, tmp_path, NEVER)
    begun, spawned = list[subprocess.Popen[bytes]](), server._spawned

    def noted(place: Place, owner: int) -> subprocess.Popen[bytes]:
        begun.append(spawned(place, owner))
        return begun[-1]

    monkeypatch.setattr(server, "_spawned", noted)
    monkeypatch.setattr(server, "START_SECONDS", DEADLINE_SECONDS)
    yield Place(tmp_path)
    for process in begun:  # one that found another at work may not have got that far yet
        process.terminate()
    for process in begun:
        process.wait(DEADLINE_SECONDS)


def keep(monkeypatch: pytest.MonkeyPatch, home: Path, idle_seconds: float) -> None:
    command = [sys.executable, "-m", "tests.pipeline.kept", str(home), str(idle_seconds)]
    monkeypatch.setattr(server, "keeper", lambda owner: [*command, str(owner)])


@pytest.fixture
def owner() -> Iterator[subprocess.Popen[bytes]]:
    """A worker that ends when it is told to."""
    process = subprocess.Popen(SLEEPER, stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()


def until_gone(place: Place) -> None:
    until(lambda: not locks.is_held(place.kept) and not place.address.exists(), "the end of the server")


def looks(place: Place) -> list[str]:
    """What the keeper has told, a line for each time that it looked."""
    path = place.folder.parent / "looks"
    return path.read_text().split("\n")[:-1] if path.exists() else []


def last(place: Place) -> str:
    return (looks(place) or [""])[-1]


def test_all_who_want_a_server_at_once_get_the_same(place: Place) -> None:
    def pid() -> int:
        with use(place, 0):
            address = place.read()
            assert address is not None
            return address.pid

    pids = {finish(call) for call in [start(pid) for _ in range(4)]}

    assert len(pids) == 1
    until(lambda: last(place).startswith("4 False"), "the count of jobs")


def test_its_address_is_for_its_owner_alone(place: Place) -> None:
    with use(place, 0) as url:
        assert url.startswith("sc://localhost:")
        assert place.address.stat().st_mode & 0o777 == 0o600
        assert place.folder.stat().st_mode & 0o777 == 0o700


def test_a_killed_server_is_replaced(place: Place) -> None:
    with use(place, 0) as first:
        address = place.read()
    assert address is not None
    os.kill(address.pid, signal.SIGKILL)
    until(lambda: not locks.is_held(place.kept), "the end of the killed keeper")
    assert place.address.exists()

    with use(place, 0) as second:
        assert second != first


def test_the_address_of_a_killed_keeper_is_none_while_others_look(place: Place) -> None:
    """Whoever looks holds its lock for a moment; somebody else may have the port by then, and would get the token."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    place.prepare()
    place.write(Address(ended.pid, 1, "token"))
    place.kept.write_text(str(ended.pid))
    look = locks.exclusive(place.kept)

    assert place.read() is None
    os.close(look)
    place.address.unlink()


def test_nobody_else_listens_on_the_other_loopback_address() -> None:
    """Which clients try first, and would give their token to."""
    port, held = own_port()

    with pytest.raises(OSError, match="ddress"), socket.socket(socket.AF_INET6) as other:
        other.bind(("::1", port))

    if held is not None:
        held.close()


def test_a_server_whose_java_ends_is_replaced(place: Place) -> None:
    with use(place, 0) as first:
        (place.folder.parent / "crash").touch()
        until_gone(place)
        until(lambda: "its Java ended" in last(place), "the reason")
    (place.folder.parent / "crash").unlink()

    with use(place, 0) as second:
        assert second != first


def test_a_server_that_nobody_uses_ends(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(monkeypatch, tmp_path, 0.05)

    with use(place, 0):
        seen = len(looks(place))
        until(lambda: len(looks(place)) > seen + 10, "looks at a server in use")
        assert place.read() is not None

    until_gone(place)
    until(lambda: "nobody used it" in last(place), "the reason")


def test_a_server_ends_with_its_owner_once_nobody_uses_it(place: Place, owner: subprocess.Popen[bytes]) -> None:
    with use(place, owner.pid):
        owner.kill()
        owner.wait()
        seen = len(looks(place))
        until(lambda: len(looks(place)) > seen + 3, "looks at a server in use")
        assert place.read() is not None

    until_gone(place)
    until(lambda: "the worker that had started it ended" in last(place), "the reason")


def test_a_server_that_cannot_start_says_why(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "keeper", lambda owner: [sys.executable, "-c", "raise SystemExit('no Java here')"])

    with pytest.raises(NoServer, match="no Java here"), use(place, 0):
        pass
