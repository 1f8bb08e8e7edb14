"""The proxy, before a server of a few lines: what passes, what is swallowed, and what never arrives late."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.chaos.faults.proxy import Proxy
from tests.ports import free_port

PATIENCE_SECONDS = 60.0


class Echo:
    """Answers every request with itself, and remembers it."""

    def __init__(self, path: str) -> None:
        self.heard: list[bytes] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(1000):
                    self.heard.append(data)
                    connection.sendall(data)
            except OSError:
                return

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def echo(tmp_path: Path) -> Iterator[Echo]:
    server = Echo(str(tmp_path / "echo"))
    yield server
    server.close()


@pytest.fixture
def proxy(echo: Echo, tmp_path: Path) -> Iterator[Proxy]:
    made = Proxy(str(tmp_path / "echo"), free_port())
    made.start()
    yield made
    made.stop()


@pytest.fixture
def call(proxy: Proxy) -> Iterator[Callable[[], socket.socket]]:
    opened: list[socket.socket] = []

    def _call() -> socket.socket:
        client = socket.create_connection(("127.0.0.1", proxy.port), timeout=PATIENCE_SECONDS)
        opened.append(client)
        return client

    yield _call
    for client in opened:
        client.close()


def ask(client: socket.socket, request: bytes) -> bytes:
    client.sendall(request)
    return client.recv(1000)


def wait_until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_requests_and_answers_pass(call: Callable[[], socket.socket]) -> None:
    client = call()

    assert ask(client, b"one") == b"one"
    assert ask(client, b"two") == b"two"


def test_a_swallowed_answer_leaves_the_client_in_doubt_and_the_server_with_the_request(
    proxy: Proxy, echo: Echo, call: Callable[[], socket.socket]
) -> None:
    client = call()
    proxy.weather.swallow_answers = 1

    with pytest.raises(ConnectionResetError):
        ask(client, b"do it")

    assert echo.heard == [b"do it"]
    assert proxy.weather.swallowed == 1
    assert ask(call(), b"next") == b"next"


def test_only_the_answer_to_a_commit_is_swallowed(proxy: Proxy, echo: Echo, call: Callable[[], socket.socket]) -> None:
    client = call()
    proxy.weather.swallow_commits = 1

    assert ask(client, b"insert") == b"insert"
    with pytest.raises(ConnectionResetError):
        ask(client, b"COMMIT\0")

    assert echo.heard[-1] == b"COMMIT\0"


def test_what_a_black_hole_held_back_never_arrives(proxy: Proxy, echo: Echo, call: Callable[[], socket.socket]) -> None:
    client = call()
    assert ask(client, b"before") == b"before"
    proxy.weather.black_hole = True
    client.sendall(b"into the hole")
    wait_until(lambda: proxy.weather.held_back)
    proxy.weather.black_hole = False

    assert ask(call(), b"after") == b"after"
    proxy.reset_all()
    with pytest.raises(ConnectionResetError):
        client.recv(1000)
    assert echo.heard == [b"before", b"after"]


def test_a_reset_reaches_every_connection(proxy: Proxy, call: Callable[[], socket.socket]) -> None:
    clients = [call(), call()]
    for client in clients:
        assert ask(client, b"x") == b"x"

    assert proxy.reset_all() == 2

    for client in clients:
        with pytest.raises(ConnectionResetError):
            client.recv(1000)


def test_without_a_server_a_connection_ends(tmp_path: Path) -> None:
    proxy = Proxy(str(tmp_path / "nobody"), free_port())
    proxy.start()
    try:
        client = socket.create_connection(("127.0.0.1", proxy.port), timeout=PATIENCE_SECONDS)
        with client, suppress(ConnectionResetError):
            assert client.recv(1000) == b""
    finally:
        proxy.stop()
