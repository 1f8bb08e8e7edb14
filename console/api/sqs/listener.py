"""The second listener of the SQS endpoint, at the root of SQS_PORT, for programs that know only a host and a port.

It runs in the event loop of the console, so that both addresses share pools, keys and long polls.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from django.conf import settings

from console.api.sqs.asgi import application

BACKLOG = 2_048


class Listener(uvicorn.Server):
    """A second uvicorn server in this process. Only the first server handles signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the first server."""
        yield


class SecondListener:
    """The listener on SQS_PORT, from the start of the process to its end."""

    def __init__(self) -> None:
        self._server: Listener | None = None
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen, if SQS_PORT is set."""
        if not settings.SQS_PORT:
            return
        config = uvicorn.Config(_http_only, lifespan="off", log_config=None, access_log=False)
        self._server = Listener(config)
        sockets = [_socket(settings.SQS_HOST, settings.SQS_PORT)]
        self._serving = asyncio.create_task(self._server.serve(sockets=sockets))

    async def stop(self) -> None:
        """Let running requests finish, and close the socket."""
        if self._server is None or self._serving is None:
            return
        self._server.should_exit = True
        await self._serving


def _socket(host: str, port: int) -> socket.socket:
    """Bind the port, which other console processes may share: the kernel distributes connections among them."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind((host, port))
    made.listen(BACKLOG)
    return made


async def _http_only(scope: Any, receive: Any, send: Any) -> None:
    """Answer HTTP, and refuse websockets."""
    if scope["type"] == "http":
        await application(scope, receive, send)
    else:
        await send({"type": "websocket.close"})


second_listener = SecondListener()
