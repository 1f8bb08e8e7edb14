# Generated from signalbox/http/client.py by `make generate`: change that file, then generate this one.
"""The asyncio twin of `signalbox.http.client`."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from signalbox.async_verbs import AsyncVerbs
from signalbox.calls.call import Call, T
from signalbox.http.connections import RETRY_SECONDS, TIMEOUT_SECONDS, AsyncConnections, Settings
from signalbox.http.exchange import Exchange


class AsyncHttpClient(AsyncVerbs):
    """The verbs of Signalbox over HTTP, for a server at `url` and an API key. Any number of threads may use it.

    Each call is a request of its own, complete when it returns; no transaction of the caller is joined. A request
    without an answer within `timeout` seconds is given up. It is repeated, for `retry_seconds` (0: never), if that
    does no harm. A wait for messages takes one request for each 20 seconds. Further keywords go to the client of httpx.

    Refusals are raised as errors of `signalbox.errors` and `signalbox.http`; a missing answer as ServerUnavailable,
    and then the call may or may not have been carried out.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        **httpx_options: Any,
    ) -> None:
        self._settings = Settings(url, api_key, timeout, retry_seconds, httpx_options)
        self._connections = AsyncConnections(self._settings)

    async def close(self) -> None:
        """Close the client's connections. A later call opens others."""
        await self._connections.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.url!r})"

    async def _run(self, call: Call[T]) -> T:
        assert call.requests is not None  # noqa: S101 - no verb here needs a database
        exchange = Exchange(call.requests(call.parameters), self._settings)
        while not exchange.is_over:
            if exchange.pause:
                await asyncio.sleep(exchange.pause)
            try:
                response = await self._connections.open().request(**exchange.options())
            except httpx.RequestError as error:
                exchange.failed(error)
            else:
                exchange.answered(response)
        return exchange.result
