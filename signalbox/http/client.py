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
    """The verbs of Signalbox, asked of a server at `url` with an API key. Any number of threads may use it.

    Each call is a request of its own, done when it returns: no transaction of the caller's is joined. A request that
    gets no answer within `timeout` seconds is given up; where that does no harm it is made again, for `retry_seconds`
    (0: never). A wait for messages takes one request for each 20 seconds. Further keywords go to the client of httpx.

    Refusals are raised as errors of `signalbox.errors` and `signalbox.http`; no answer as ServerUnavailable, and then
    the call may or may not have been carried out.
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
        assert call.requests is not None  # noqa: S101 - verbs that need a database are not among these
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
