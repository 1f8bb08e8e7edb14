"""A TCP proxy in front of the server's socket, which can be slow, silent, or break a connection at the worst moment.

The worst moment is after the server has answered: the work is done, and the client gets no answer.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from dataclasses import dataclass, field

CHUNK_BYTES = 64 * 1024
COMMIT = b"commit\0"


@dataclass
class Weather:
    """State of the traffic now."""

    delay_seconds: float = 0.0
    black_hole: bool = False
    swallow_answers: int = 0
    """How many connections are still to lose the next answer of the server, and then themselves."""
    swallow_commits: int = 0
    """Likewise, but only the answer to a commit."""
    swallowed: int = 0
    held_back: int = 0
    """What the black hole has taken."""


@dataclass(eq=False)
class _Link:
    """One connection: the client's side and the server's."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    task: asyncio.Task[None] | None
    """Task that carries a connection, kept here so that it is not collected."""
    doomed: bool = False
    """Its next answer is swallowed."""

    def reset(self) -> None:
        """End it with an RST to the client, so that nothing on the way arrives later."""
        raw = self.client.get_extra_info("socket")
        if raw is not None and raw.fileno() >= 0:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.client.transport.abort()
        self.server.transport.abort()
        if self.task is not None and self.task is not asyncio.current_task():
            self.task.cancel()


@dataclass
class Proxy:
    """Proxy that listens on a port of 127.0.0.1 from `start` to `stop`, in a thread of its own."""

    target: str
    """The path of the server's socket."""
    port: int
    weather: Weather = field(default_factory=Weather)
    _links: set[_Link] = field(default_factory=set)

    def start(self) -> None:
        started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, args=(started,), daemon=True, name="proxy")
        self._thread.start()
        assert started.wait(60)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def reset_all(self) -> int:
        """Break every connection there is; how many."""
        return asyncio.run_coroutine_threadsafe(self._reset_all(), self._loop).result(60)

    def _serve(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", self.port))
        started.set()
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(self._reset_all())
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _reset_all(self) -> int:
        links = list(self._links)
        for link in links:
            link.reset()
        return len(links)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_unix_connection(self.target)
        except OSError:
            writer.transport.abort()
            return
        link = _Link(writer, to_server, asyncio.current_task())
        self._links.add(link)
        try:
            await asyncio.gather(self._requests(reader, link), self._answers(from_server, link))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._links.discard(link)
            link.reset()

    async def _requests(self, reader: asyncio.StreamReader, link: _Link) -> None:
        while data := await reader.read(CHUNK_BYTES):
            await self._travel()
            self._choose(link, data)
            link.server.write(data)
            await link.server.drain()
        link.server.close()

    def _choose(self, link: _Link, request: bytes) -> None:
        if self.weather.swallow_answers:
            self.weather.swallow_answers -= 1
            link.doomed = True
        elif self.weather.swallow_commits and COMMIT in request.lower():
            self.weather.swallow_commits -= 1
            link.doomed = True

    async def _answers(self, reader: asyncio.StreamReader, link: _Link) -> None:
        while data := await reader.read(CHUNK_BYTES):
            if link.doomed:
                self.weather.swallowed += 1
                link.reset()
                return
            await self._travel()
            link.client.write(data)
            await link.client.drain()
        link.client.close()

    async def _travel(self) -> None:
        """A black hole ends with the connection: what it holds back is never delivered late."""
        if self.weather.delay_seconds:
            await asyncio.sleep(self.weather.delay_seconds)
        if self.weather.black_hole:
            self.weather.held_back += 1
            await asyncio.Event().wait()
