"""Live updates: open pages learn which queues changed, and fetch themselves again.

One connection per process listens on `signalbox_stat` and fans the queue ids out to every open stream. A
stream carries hints only, never data: what a person may see is decided by the page that is fetched. A lost
hint costs nothing, since pages also ask now and then by themselves.
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
HEARTBEAT_SECONDS = 15.0  # below the idle timeout of any proxy worth its name
LIFETIME_SECONDS = 600.0  # then the browser connects again, and is checked again
RECONNECT_SECONDS = 2.0
MAX_STREAMS_PER_USER = 12
MAX_STREAMS = 500

logger = logging.getLogger(__name__)

Ask = Callable[[], frozenset[str] | None]


@login_not_required  # a browser without a login gets 204, and is not led to a page
async def stream(request: HttpRequest) -> HttpResponseBase:
    """GET /live: `stat` events with comma-separated queue ids. 204 tells a browser not to ask again."""
    user = await request.auser()
    if not user.is_authenticated:
        return HttpResponse(status=204)
    queue_ids = await sync_to_async(_reached)(user)
    if not isinstance(request, ASGIRequest):
        return HttpResponse(status=204)  # a synchronous server would give a whole thread to each stream
    _end_streams_with_the_server()
    if not hub.has_room(user.pk):
        return HttpResponse("Too many open pages.", status=429, headers={"Retry-After": "30"})
    return StreamingHttpResponse(
        _events(user.pk, queue_ids, partial(_still_reached, request.session.session_key)),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _reached(user: roles.User) -> frozenset[str] | None:
    """List the queues of the person's hints, by id; None for all. New queues come with the next stream."""
    reach = roles.reach(user, "see_metadata")
    if not reach:
        raise PermissionDenied(roles.denial(user, "see_metadata"))
    if reach.is_everything:
        return None
    names = Queue.objects.filter(reach.among()).values_list("queue_id", flat=True)
    return frozenset(str(queue_id) for queue_id in names)


def _still_reached(session_key: str) -> frozenset[str] | None:
    """The queues that a session reaches now. Raises PermissionDenied when it is over, or its person is shut out."""
    request = HttpRequest()
    request.session = SessionStore(session_key)
    return _reached(auth.get_user(request))


async def _events(user_id: int, reached: frozenset[str] | None, ask: Ask) -> AsyncIterator[str]:
    """The stream of one page: hints as they come, heartbeats in between, an end after LIFETIME_SECONDS.

    Every heartbeat reads the person's reach again; the stream ends when the session does.
    """
    ends_at = time.monotonic() + LIFETIME_SECONDS
    asks_at = time.monotonic() + HEARTBEAT_SECONDS
    async with hub.subscription(user_id) as subscription:
        yield "retry: 3000\n\n"
        while time.monotonic() < ends_at and not hub.is_closed:
            changed = await subscription.changed(HEARTBEAT_SECONDS)
            if time.monotonic() >= asks_at:
                try:
                    reached = await sync_to_async(ask)()
                    asks_at = time.monotonic() + HEARTBEAT_SECONDS
                except PermissionDenied:
                    return
                except DatabaseError:
                    pass  # the next hint, which comes from the same database, asks again
            queue_ids = changed if reached is None else changed & reached
            yield f"event: stat\ndata: {','.join(sorted(queue_ids))}\n\n" if queue_ids else ": still here\n\n"


@cache
def _end_streams_with_the_server() -> None:
    """Close the hub before a stopping server waits for its open answers: a signal does that before its own work."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)

        def close_first(number: int, frame: FrameType | None, before: Any = before) -> None:
            loop.call_soon_threadsafe(hub.close)
            if callable(before):
                before(number, frame)

        with suppress(ValueError):  # only the main thread may handle signals, and elsewhere no stream has to end
            signal.signal(number, close_first)


class Subscription:
    """The hints that one open page has not got yet. They pile up as a set: a slow page costs no memory."""

    def __init__(self) -> None:
        self._queue_ids: set[str] = set()
        self._ready = asyncio.Event()

    def tell(self, queue_ids: set[str]) -> None:
        """Hand over hints; without any, the page's stream looks around."""
        self._queue_ids |= queue_ids
        self._ready.set()

    async def changed(self, timeout_seconds: float) -> set[str]:
        """The queues that changed since the last call, or nothing when the time is up."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._ready.wait()
        except TimeoutError:
            return set()
        self._ready.clear()
        queue_ids, self._queue_ids = self._queue_ids, set()
        return queue_ids


class Hub:
    """All open streams of this process and the one connection that feeds them while there are any."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()
        self._per_user: Counter[int] = Counter()
        self._listener: asyncio.Task[None] | None = None
        self.is_listening = False  # whether hints come in at this moment
        self.is_closed = False

    def close(self) -> None:
        """End every stream: this process is about to go. Browsers come back to the next."""
        self.is_closed = True
        for subscription in self._subscriptions:
            subscription.tell(set())

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
        """Hand a notification's queue ids to every stream; anything that is not a number is dropped."""
        queue_ids = {part for part in payload.split(",") if part.isascii() and part.isdigit()}
        if queue_ids:
            for subscription in self._subscriptions:
                subscription.tell(queue_ids)

    async def _listen(self) -> None:
        """Listen until cancelled; a lost connection is opened again. Without a listening connection, pages poll."""
        while True:
            try:
                if (where := await sync_to_async(listening_dsn)()) is None:
                    return
                async with await primary_selection.connect_async(where, autocommit=True) as listening:
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
