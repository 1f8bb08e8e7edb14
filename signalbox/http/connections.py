"""The connections of an HTTP client: a pool, opened at the first call, that a fork does not share with its parent."""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any

import httpx

from signalbox import arguments
from signalbox.calls.request import Request
from signalbox.errors import InvalidArgument
from signalbox.version import __version__

#: Seconds that connecting, sending and answering may each take; the wait of a long poll is added.
TIMEOUT_SECONDS = 10.0
#: Seconds for which a request is repeated.
RETRY_SECONDS = 30.0


class Settings:
    """The address of the server, the API key, and the times that a request may take."""

    def __init__(
        self, url: str, api_key: str | None, timeout: float, retry_seconds: float, options: dict[str, Any]
    ) -> None:
        if not re.fullmatch(r"(?i:https?)://[^\s/?#]+(/[^\s?#]*)?", arguments.text("url", url)):
            raise InvalidArgument("url must begin with https:// or http:// and name a host", field="url")
        self.url = url.rstrip("/").removesuffix("/v1")
        self._api_key = arguments.optional_text("api_key", api_key)
        if self._api_key is not None and not re.fullmatch(r"[\x21-\x7e]+", self._api_key):
            raise InvalidArgument("api_key must be printable ASCII without spaces", field="api_key")
        if arguments.seconds("timeout", timeout) == 0:
            raise InvalidArgument("timeout must be more than zero seconds", field="timeout")
        self.timeout = timeout
        self.retry_seconds = arguments.seconds("retry_seconds", retry_seconds)
        self._options = options

    def httpx_options(self) -> dict[str, Any]:
        """The keywords of an httpx client: the caller's, and the headers of every request."""
        headers = {"User-Agent": f"signalbox/{__version__}", "Accept": "application/json"}
        if self._api_key is not None:
            headers["Authorization"] = f"Bearer {self._api_key}"
        return {**self._options, "headers": {**headers, **self._options.get("headers", {})}}

    def options_of(self, request: Request, headers: dict[str, str]) -> dict[str, Any]:
        """The keywords of one request for an httpx client."""
        return {
            "method": request.method,
            "url": self.url + request.path,
            "content": None if request.content is None else request.content.encode(),
            "headers": headers,
            "timeout": httpx.Timeout(self.timeout, read=self.timeout + request.wait_seconds),
        }


class Connections:
    """The pool of a synchronous client. A forked child opens its own: two processes would read each other's answers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: httpx.Client | None = None
        self._owner = os.getpid()

    def open(self) -> httpx.Client:
        """The pool of this process."""
        if self._client is None or self._owner != os.getpid():
            self._owner = os.getpid()
            self._client = httpx.Client(**self._settings.httpx_options())
        return self._client

    def close(self) -> None:
        if self._client is not None and self._owner == os.getpid():
            self._client.close()
        self._client = None


class AsyncConnections:
    """The pool of an asyncio client, which belongs to its event loop as well as its process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: httpx.AsyncClient | None = None
        self._owner: tuple[int, asyncio.AbstractEventLoop] | None = None

    def open(self) -> httpx.AsyncClient:
        """The pool of this process and event loop."""
        here = (os.getpid(), asyncio.get_running_loop())
        if self._client is None or self._owner != here:
            self._owner = here
            self._client = httpx.AsyncClient(**self._settings.httpx_options())
        return self._client

    async def close(self) -> None:
        if self._client is not None and self._owner == (os.getpid(), asyncio.get_running_loop()):
            await self._client.aclose()
        self._client = None
