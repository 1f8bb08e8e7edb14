"""Live updates: open pages receive the ids of queues that changed, and fetch their content again.

One connection of each process listens on `signalbox_stat` and passes the queue ids on to every open stream. A stream
carries hints only, never data: the page that is fetched decides what the person may see. A lost hint does no harm,
because pages also fetch their content at regular intervals.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from types import FrameType
from typing import Any

import psycopg
from asgiref.sync import sync_to_async
from django.contrib import auth
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.core.handlers.asgi import ASGIRequest
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from console.access import roles
from console.access.sessions import SessionStore
from queues.database.connections import listening_dsn
from queues.models import Queue
from signalbox.connections import primary_selection
from signalbox.logs import in_brief

CHANNEL = "signalbox_stat"
HEARTBEAT_SECONDS = 15.0  # below the idle timeout of common proxies
LIFETIME_SECONDS = 600.0  # then the browser connects again, and its session is checked again
RECONNECT_SECONDS = 2.0
MAX_STREAMS_PER_USER = 12
MAX_STREAMS = 500

logger = logging.getLogger(__name__)

ReadReach = Callable[[], frozenset[str] | None]


@login_not_required  # a browser without a session gets 204 instead of the login page
async def stream(request: HttpRequest) -> HttpResponseBase:
    """GET /live: `stat` events with comma-separated queue ids. After 204, a browser does not connect again."""
    user = await request.auser()
    if not user.is_authenticated:
        return HttpResponse(status=204)
    queue_ids = await sync_to_async(_reached)(user)
    if not isinstance(request, ASGIRequest):
        return HttpResponse(status=204)  # a synchronous server would need a thread for each stream
    _end_streams_with_the_server()
    if not hub.has_room(user.pk):
        return HttpResponse("Too many open pages.", status=429, headers={"Retry-After": "30"})
    return StreamingHttpResponse(
        _events(user.pk, queue_ids, partial(_still_reached, request.session.session_key)),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _reached(user: roles.User) -> frozenset[str] | None:
    """Return the ids of the queues of which a person gets hints; None means all. New queues are in the next stream."""
    reach = roles.reach(user, "see_metadata")
    if not reach:
        raise PermissionDenied(roles.denial(user, "see_metadata"))
    if reach.is_everything:
        return None
    names = Queue.objects.filter(reach.among()).values_list("queue_id", flat=True)
    return frozenset(str(queue_id) for queue_id in names)


def _still_reached(session_key: str) -> frozenset[str] | None:
    """Return the queues that a session reaches now. Raises PermissionDenied if the session or the access ended."""
    request = HttpRequest()
    request.session = SessionStore(session_key)
    return _reached(auth.get_user(request))


async def _events(user_id: int, reached: frozenset[str] | None, read_reach: ReadReach) -> AsyncIterator[str]:
    """Send one page its hints, with heartbeats in between, for LIFETIME_SECONDS.

    Every heartbeat reads the person's reach again, and ends the stream if the session has ended.
    """
    ends_at = time.monotonic() + LIFETIME_SECONDS
    reads_reach_at = time.monotonic() + HEARTBEAT_SECONDS
    async with hub.subscription(user_id) as subscription:
        yield "retry: 3000\n\n"
        while time.monotonic() < ends_at and not hub.is_closed:
            changed = await subscription.changed(HEARTBEAT_SECONDS)
            if time.monotonic() >= reads_reach_at:
                try:
                    reached = await sync_to_async(read_reach)()
                    reads_reach_at = time.monotonic() + HEARTBEAT_SECONDS
                except PermissionDenied:
                    return
                except DatabaseError:
                    pass  # the next heartbeat reads the reach again
            queue_ids = changed if reached is None else changed & reached
            yield f"event: stat\ndata: {','.join(sorted(queue_ids))}\n\n" if queue_ids else ": still here\n\n"


@cache
def _end_streams_with_the_server() -> None:
    """Close the hub at a stop signal, before the server waits for its open responses."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)

        def close_first(number: int, frame: FrameType | None, before: Any = before) -> None:
            loop.call_soon_threadsafe(hub.close)
            if callable(before):
                before(number, frame)

        with suppress(ValueError):  # outside of the main thread, where signals cannot be handled
            signal.signal(number, close_first)


class Subscription:
    """Hints for one open page that are not sent yet. They are a set, so that a slow page needs little memory."""

    def __init__(self) -> None:
        self._queue_ids: set[str] = set()
        self._ready = asyncio.Event()

    def add(self, queue_ids: set[str]) -> None:
        """Add hints and wake the stream; without hints, only wake the stream."""
        self._queue_ids |= queue_ids
        self._ready.set()

    async def changed(self, timeout_seconds: float) -> set[str]:
        """Wait for changes, and return the queues that changed since the last call; none after the timeout."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._ready.wait()
        except TimeoutError:
            return set()
        self._ready.clear()
        queue_ids, self._queue_ids = self._queue_ids, set()
        return queue_ids


class Hub:
    """The open streams of this process, and the connection that listens while there is a stream."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()
        self._per_user: Counter[int] = Counter()
        self._listener: asyncio.Task[None] | None = None
        self.is_listening = False  # whether the listening connection is open
        self.is_closed = False

    def close(self) -> None:
        """End every stream before the process stops. Browsers connect again to another process."""
        self.is_closed = True
        for subscription in self._subscriptions:
            subscription.add(set())

    def has_room(self, user_id: int) -> bool:
        return len(self._subscriptions) < MAX_STREAMS and self._per_user[user_id] < MAX_STREAMS_PER_USER

    @asynccontextmanager
    async def subscription(self, user_id: int) -> AsyncIterator[Subscription]:
        subscription = Subscription()
        self._subscriptions.add(subscription)
        self._per_user[user_id] += 1
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._listen())
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)
            self._per_user[user_id] -= 1
            if not self._subscriptions:
                self._listener.cancel()
                self._listener = None

    def publish(self, payload: str) -> None:
        """Pass the queue ids of a notification on to every stream, and drop what is not a number."""
        queue_ids = {part for part in payload.split(",") if part.isascii() and part.isdigit()}
        if queue_ids:
            for subscription in self._subscriptions:
                subscription.add(queue_ids)

    async def _listen(self) -> None:
        """Listen until cancelled, and connect again after a failure. Without this connection, pages poll."""
        while True:
            try:
                if (dsn := await sync_to_async(listening_dsn)()) is None:
                    return
                async with await primary_selection.connect_async(dsn, autocommit=True) as listening:
                    await listening.execute(f"listen {CHANNEL}")
                    self.is_listening = True
                    async for notification in listening.notifies():
                        self.publish(notification.payload)
            except psycopg.Error as error:
                logger.warning("live updates lost the database, trying again: %s", in_brief(error))
                await asyncio.sleep(RECONNECT_SECONDS)
            finally:
                self.is_listening = False


hub = Hub()
