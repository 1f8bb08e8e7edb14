"""The client of a server: each call of a verb is one HTTP request, or a few."""

from __future__ import annotations

import time
from typing import Any

import httpx

from signalbox.calls.call import Call, T
from signalbox.http.connections import RETRY_SECONDS, TIMEOUT_SECONDS, Connections, Settings
from signalbox.http.exchange import Exchange
from signalbox.verbs import Verbs


class HttpClient(Verbs):
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
        self._connections = Connections(self._settings)

    def close(self) -> None:
        """Close the client's connections. A later call opens others."""
        self._connections.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.url!r})"

    def _run(self, call: Call[T]) -> T:
        assert call.requests is not None  # noqa: S101 - no verb here needs a database
        exchange = Exchange(call.requests(call.parameters), self._settings)
        while not exchange.is_over:
            if exchange.pause:
                time.sleep(exchange.pause)
            try:
                response = self._connections.open().request(**exchange.options())
            except httpx.RequestError as error:
                exchange.failed(error)
            else:
                exchange.answered(response)
        return exchange.result
