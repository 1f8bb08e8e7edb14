"""Live hints tell each browser what changed, and nothing more."""

from __future__ import annotations

import asyncio
import signal
import urllib.request
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.db import connections
from django.test import AsyncClient

from console.access.sessions import end_sessions
from console.web import live
from console.web.live import Hub
from tests.console.browsers import Browser
from tests.console.servers import console_server

PATIENCE_SECONDS = 90.0


@pytest.fixture
def watcher(commits: None) -> User:
    person, _ = User.objects.get_or_create(username="test-watcher")
    person.groups.set([Group.objects.get(name="viewer")])
    return person


def run(scenario: Coroutine[Any, Any, Any]) -> Any:
    """Run to the end, and leave no connection behind in the thread that Django works in."""

    async def tidy() -> Any:
        try:
            return await scenario
        finally:
            await sync_to_async(connections.close_all)()

    return asyncio.run(tidy())


async def opened(person: User | None) -> Any:
    client = AsyncClient()
    if person:
        await sync_to_async(client.force_login)(person)
    return await client.get("/live")


async def next_event(stream: AsyncIterator[bytes]) -> str:
    """The next that is no heartbeat."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (event := (await anext(stream)).decode()).startswith(":"):
            pass
    return event


def test_a_change_in_the_database_reaches_the_stream(watcher: User, connect: Callable[..., psycopg.Connection]) -> None:
    sender = connect()

    async def scenario() -> list[str]:
        answer = await opened(watcher)
        assert answer["Content-Type"] == "text/event-stream"
        assert answer["Cache-Control"] == "no-store"
        stream = aiter(answer.streaming_content)
        events = [await next_event(stream)]
        await listening()
        await asyncio.to_thread(sender.execute, "select pg_notify('signalbox_stat', '12,7')")
        events.append(await next_event(stream))
        await stream.aclose()
        return events

    assert run(scenario()) == ["retry: 3000\n\n", "event: stat\ndata: 12,7\n\n"]


@pytest.mark.parametrize("ending", ["logout", "shut out", "role lost", "new password"])
def test_a_stream_ends_with_its_session(watcher: User, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.05)

    def end() -> None:
        if ending == "logout":
            end_sessions(watcher)
        elif ending == "shut out":
            User.objects.filter(pk=watcher.pk).update(is_active=False)
        elif ending == "new password":
            watcher.set_password("another one, quite long")
            watcher.save()
        else:
            watcher.groups.clear()

    async def scenario() -> None:
        answer = await opened(watcher)
        stream = aiter(answer.streaming_content)
        for _ in range(4):
            await anext(stream)  # it goes on while the session does
        await sync_to_async(end)()
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for _ in stream:
                pass

    try:
        run(scenario())
    finally:
        User.objects.filter(pk=watcher.pk).update(is_active=True)


async def listening() -> None:
    """Wait until this process's connection listens."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not live.hub.is_listening:
            await asyncio.sleep(0.01)


def test_strangers_and_people_without_a_role_get_no_stream(watcher: User) -> None:
    watcher.groups.clear()

    assert run(opened(None)).status_code == 204
    assert run(opened(watcher)).status_code == 403


def test_a_synchronous_server_tells_pages_to_poll(viewer: Browser) -> None:
    assert viewer.get("/live").status_code == 204


def test_hints_pile_up_as_a_set_and_only_numbers_pass() -> None:
    async def scenario() -> set[str]:
        hub = Hub()
        async with hub.subscription(1) as subscription:
            hub.publish("3,4")
            hub.publish("4,5,<script>,-1,٣")
            return await subscription.changed(1)

    assert asyncio.run(scenario()) == {"3", "4", "5"}


def test_silence_is_a_heartbeat() -> None:
    async def scenario() -> set[str]:
        async with Hub().subscription(1) as subscription:
            return await subscription.changed(0.01)

    assert asyncio.run(scenario()) == set()


def test_a_stopping_server_does_not_wait_for_its_streams(dsn: str, viewer: Browser) -> None:
    cookies = "; ".join(f"{name}={cookie.value}" for name, cookie in viewer.cookies.items())

    with console_server(dsn) as server:
        stream = urllib.request.urlopen(urllib.request.Request(f"{server.url}/live", headers={"Cookie": cookies}))
        assert stream.readline() == b"retry: 3000\n"
        server.process.terminate()
        assert server.process.wait(timeout=PATIENCE_SECONDS) in (0, -signal.SIGTERM)
        stream.close()


def test_open_streams_are_limited() -> None:
    async def scenario() -> tuple[bool, bool, bool]:
        hub = Hub()
        opened = [hub.subscription(1) for _ in range(live.MAX_STREAMS_PER_USER)]
        for subscription in opened:
            await subscription.__aenter__()
        full, other = hub.has_room(1), hub.has_room(2)
        for subscription in opened:
            await subscription.__aexit__(None, None, None)
        return full, other, hub.has_room(1)

    assert asyncio.run(scenario()) == (False, True, True)
