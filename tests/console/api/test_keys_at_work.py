"""A key over the wire: revoked in one process and refused in another, noted when it is used, held to its limits."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from console.access.api_keys import keys
from console.access.api_keys.models import ApiKey
from tests.console.api.callers import TIMEOUT_SECONDS, Caller
from tests.console.api.worlds import World

MakeCaller = Callable[..., Caller]


def _in_the_end(happened: Callable[[], bool]) -> bool:
    """Repeat until the condition holds, with time for a busy machine."""
    ends_at = time.monotonic() + 90
    while not happened():
        if time.monotonic() > ends_at:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.proof
def test_a_key_revoked_here_is_refused_there(make_caller: MakeCaller, world: World) -> None:
    """The server is another process: it learns of it when what it remembers is stale, and that is waited for."""
    caller = make_caller("read,send")
    name = ApiKey.objects.get(identifier=caller.key.removeprefix("sbx_").split(".")[0]).name
    path = f"/v1/queues/{world.queue}/messages"
    assert caller.post(path, {"body": 1}).status == 202

    found = keys.find(name)
    assert found is not None
    keys.revoke(found.pk, actor="ana")

    assert _in_the_end(lambda: caller.post(path, {"body": 1}).status == 401)


def test_a_use_is_noted(make_caller: MakeCaller, world: World) -> None:
    caller = make_caller("send")
    identifier = caller.key.removeprefix("sbx_").split(".")[0]

    caller.post(f"/v1/queues/{world.queue}/messages", {"body": 1})

    assert _in_the_end(lambda: ApiKey.objects.get(identifier=identifier).last_used_at is not None)


def test_a_key_above_its_rate_gets_a_retry_time(make_caller: MakeCaller, world: World) -> None:
    caller = make_caller("send", rate=0.001)
    path = f"/v1/queues/{world.queue}/messages"

    assert caller.post(path, {"body": 1}).status == 202
    refused = caller.post(path, {"body": 1})

    assert (refused.status, refused.kind) == (429, "rate-exceeded")
    assert 1 <= int(refused.headers["retry-after"]) <= 1000
    assert (refused.document["limitName"], refused.document["limit"]) == ("rate", 0.001)
    assert world.engine.recounted()[0] == 1


def test_a_key_frees_its_slot_when_a_request_ends(make_caller: MakeCaller, world: World) -> None:
    caller = make_caller("send", connections=1)
    path = f"/v1/queues/{world.queue}/messages"

    with begun(caller, path):  # its body never comes to an end
        refused = caller.post(path, {"body": 1})
        assert (refused.status, refused.kind, refused.headers["retry-after"]) == (429, "too-many-connections", "1")
        assert (refused.document["limit"], refused.document["actual"]) == (1, 1)
        assert make_caller("send", connections=1).post(path, {"body": 1}).status == 202

    assert _in_the_end(lambda: caller.post(path, {"body": 1}).status == 202)


@contextmanager
def begun(caller: Caller, path: str) -> Iterator[None]:
    """A request that has its place: the server asks for its body. Its sender goes at the end."""
    place = urlsplit(caller.url)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {caller.key}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    )
    with socket.create_connection((place.hostname, place.port or 80)) as connection:
        connection.settimeout(TIMEOUT_SECONDS)
        connection.sendall(head.encode())
        assert connection.recv(1024).startswith(b"HTTP/1.1 100 ")
        yield
