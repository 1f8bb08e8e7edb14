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

from pipeline.spark import keeper
from pipeline.spark.keeper import Address, NoServer, ServerFolder, use
from pipeline.spark.sessions import own_port
from queues.database.embedded import locks
from tests.races.sessions import DEADLINE_SECONDS, finish, start, until

NEVER = 86_400
SLEEPER = [sys.executable, "-c", "import sys; sys.stdin.read()"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerFolder]:
    """Home without a server; a server started there stays until it is stopped."""
    keep(monkeypatch, tmp_path, NEVER)
    begun, spawned = list[subprocess.Popen[bytes]](), keeper._spawn

    def noted(place: ServerFolder, owner: int) -> subprocess.Popen[bytes]:
        begun.append(spawned(place, owner))
        return begun[-1]

    monkeypatch.setattr(keeper, "_spawn", noted)
    monkeypatch.setattr(keeper, "START_SECONDS", DEADLINE_SECONDS)
    yield ServerFolder(tmp_path)
    for process in begun:  # one that found another at work may not have got that far yet
        process.terminate()
    for process in begun:
        process.wait(DEADLINE_SECONDS)


def keep(monkeypatch: pytest.MonkeyPatch, home: Path, idle_seconds: float) -> None:
    command = [sys.executable, "-m", "tests.pipeline.spark.kept", str(home), str(idle_seconds)]
    monkeypatch.setattr(keeper, "keeper_command", lambda owner: [*command, str(owner)])


@pytest.fixture
def owner() -> Iterator[subprocess.Popen[bytes]]:
    """Worker that ends on request."""
    process = subprocess.Popen(SLEEPER, stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()


def until_gone(place: ServerFolder) -> None:
    until(lambda: not locks.is_held(place.kept) and not place.address.exists(), "the end of the server")


def looks(place: ServerFolder) -> list[str]:
    """Lines of the keeper, one for each look."""
    path = place.folder.parent / "looks"
    return path.read_text().split("\n")[:-1] if path.exists() else []


def last(place: ServerFolder) -> str:
    return (looks(place) or [""])[-1]


def test_all_who_want_a_server_at_once_get_the_same(place: ServerFolder) -> None:
    def pid() -> int:
        with use(place, 0):
            address = place.read()
            assert address is not None
            return address.pid

    pids = {finish(call) for call in [start(pid) for _ in range(4)]}

    assert len(pids) == 1
    until(lambda: last(place).startswith("4 False"), "the count of jobs")


def test_its_address_is_for_its_owner_alone(place: ServerFolder) -> None:
    with use(place, 0) as url:
        assert url.startswith("sc://localhost:")
        assert place.address.stat().st_mode & 0o777 == 0o600
        assert place.folder.stat().st_mode & 0o777 == 0o700


def test_a_killed_server_is_replaced(place: ServerFolder) -> None:
    with use(place, 0) as first:
        address = place.read()
    assert address is not None
    os.kill(address.pid, signal.SIGKILL)
    until(lambda: not locks.is_held(place.kept), "the end of the killed keeper")
    assert place.address.exists()

    with use(place, 0) as second:
        assert second != first


def test_the_address_of_a_killed_keeper_is_none_while_others_look(place: ServerFolder) -> None:
    """A look holds the lock for a moment; another process may have the port by then, and would get the token."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    place.prepare()
    place.write(Address(ended.pid, 1, "token"))
    place.kept.write_text(str(ended.pid))
    look = locks.exclusive(place.kept)

    assert place.read() is None
    os.close(look)
    place.address.unlink()


def test_the_other_loopback_address_is_not_taken() -> None:
    """Addresses that clients try first, and would send their token to."""
    port, held = own_port()

    with pytest.raises(OSError, match="ddress"), socket.socket(socket.AF_INET6) as other:
        other.bind(("::1", port))

    if held is not None:
        held.close()


def test_a_server_whose_java_ends_is_replaced(place: ServerFolder) -> None:
    with use(place, 0) as first:
        (place.folder.parent / "crash").touch()
        until_gone(place)
        until(lambda: "its Java process ended" in last(place), "the reason")
    (place.folder.parent / "crash").unlink()

    with use(place, 0) as second:
        assert second != first


def test_an_unused_server_ends(place: ServerFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(monkeypatch, tmp_path, 0.05)

    with use(place, 0):
        seen = len(looks(place))
        until(lambda: len(looks(place)) > seen + 10, "looks at a server in use")
        assert place.read() is not None

    until_gone(place)
    until(lambda: "no job used it" in last(place), "the reason")


@pytest.mark.proof
def test_a_server_ends_with_its_owner_when_it_is_unused(place: ServerFolder, owner: subprocess.Popen[bytes]) -> None:
    with use(place, owner.pid):
        owner.kill()
        owner.wait()
        seen = len(looks(place))
        until(lambda: len(looks(place)) > seen + 3, "looks at a server in use")
        assert place.read() is not None

    until_gone(place)
    until(lambda: "the worker that started it ended" in last(place), "the reason")


@pytest.mark.proof
def test_a_server_that_cannot_start_says_why(place: ServerFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    ending = [sys.executable, "-c", "raise SystemExit('no Java here')"]
    monkeypatch.setattr(keeper, "keeper_command", lambda owner: ending)

    with pytest.raises(NoServer, match="no Java here"), use(place, 0):
        pass
