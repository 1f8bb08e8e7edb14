"""One call over HTTP: its requests in turn, each repeated for a limited time if that does no harm.

A request that was certainly not carried out (no connection was made, or the key had used up its rate) may always be
repeated. A request that may have been carried out is repeated if a second attempt changes nothing: reads, acks, and
sends under an idempotency key.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Mapping
from typing import Any, Generic

import httpx

from signalbox.calls.call import T
from signalbox.calls.problems import error_of, slug_of
from signalbox.calls.request import Answer, Requests
from signalbox.connections.reconnect import Backoff
from signalbox.errors import RateLimited, ServerUnavailable
from signalbox.http.connections import Settings
from signalbox.logs.errors import name_of

#: The first pause before another attempt and the longest, in seconds.
FIRST_PAUSE_SECONDS = 0.1
MAX_PAUSE_SECONDS = 5.0

#: The status of a fault in the server, which another attempt would meet again.
_SERVER_FAULT = 500
_FIRST_ERROR = 400


class Exchange(Generic[T]):
    """The requests of a call and the attempts at each, without the connection that carries them.

    Until `is_over`, the client waits for `pause` seconds, makes an attempt with `options`, and calls `answered` or
    `failed`: these prepare the next attempt, or raise the error for the caller.
    """

    def __init__(self, requests: Requests[T], settings: Settings) -> None:
        self._requests = requests
        self._settings = settings
        self.is_over = False
        #: The result of the verb, once the exchange is over.
        self.result: T
        self._next_request(None)

    def options(self) -> dict[str, Any]:
        """The keywords of the next attempt for an httpx client; the idempotency key of all attempts is the same."""
        headers = {"Content-Type": "application/json"} if self._request.content is not None else {}
        headers |= {"Idempotency-Key": self._key} if self._key else {}
        self._began = time.perf_counter()
        return self._settings.options_of(self._request, headers)

    def answered(self, response: httpx.Response) -> None:
        """Handle the answer to an attempt."""
        if self._request.durations:
            self._request.durations.observe(time.perf_counter() - self._began)
        document = _document(response)
        problem = document if isinstance(document, Mapping) else {}
        if response.is_success:
            self._next_request(Answer(document, self._doubtful))
        elif (slug := slug_of(problem)) in self._request.instead:
            self._next_request(Answer(self._request.instead[slug], self._doubtful))
        else:
            self._refused(response, self._error(response, problem))

    def failed(self, error: httpx.RequestError) -> None:
        """Handle the failure of an attempt."""
        not_sent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        text = f"{self._request.method} {self._request.path}: {name_of(error)}: {error}"
        lost = ServerUnavailable(text, "no-connection" if not_sent else "connection-lost", nothing_done=not_sent)
        lost.__cause__ = error
        if not isinstance(error, httpx.TransportError):
            raise lost
        self._repeat(None, lost, doubtful=not not_sent)

    def _next_request(self, answer: Answer | None) -> None:
        """Prepare the request that follows this answer; None prepares the first."""
        try:
            self._request = next(self._requests) if answer is None else self._requests.send(answer)
        except StopIteration as end:
            self.result, self.is_over = end.value, True
            return
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            if answer is None:
                raise
            raise ServerUnavailable(f"{self._settings.url} answered with an unknown document") from error
        self.pause = 0.0
        self._doubtful = False
        self._ends_at = time.monotonic() + self._settings.retry_seconds
        self._backoff = Backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        self._key = str(uuid.uuid4()) if self._request.keyed and self._settings.retry_seconds else None

    def _refused(self, response: httpx.Response, error: Exception) -> None:
        if isinstance(error, RateLimited):
            self._repeat(_retry_after(response, error.retry_after), error)
        elif isinstance(error, ServerUnavailable) and response.status_code != _SERVER_FAULT:
            self._repeat(_retry_after(response, None), error, doubtful=not error.nothing_done)
        else:
            raise error

    def _error(self, response: httpx.Response, problem: Mapping[str, Any]) -> Exception:
        """Make the error for an answer; a document that only a proxy can have written goes by its status."""
        known = {"title": response.reason_phrase, **problem, "status": response.status_code}
        try:
            return error_of(known, self._request.names)
        except (LookupError, TypeError, ValueError, AttributeError):
            return error_of({"title": response.reason_phrase, "status": response.status_code}, self._request.names)

    def _repeat(self, pause: float | None, error: Exception, *, doubtful: bool = False) -> None:
        """Repeat the request after a pause; raises the error if that could do harm or no time is left."""
        if doubtful and not (self._request.repeatable and (self._key or not self._request.keyed)):
            raise error
        self.pause = max(pause or 0.0, self._backoff.pause())
        if time.monotonic() + self.pause > self._ends_at:
            raise error
        self._doubtful = self._doubtful or doubtful


def _document(response: httpx.Response) -> Any:
    if not response.content:
        return None
    try:
        return json.loads(response.content)
    except ValueError as error:
        if response.status_code < _FIRST_ERROR:
            raise ServerUnavailable(f"{response.url} gave an answer that is not JSON") from error
        return None


def _retry_after(response: httpx.Response, stated: float | None) -> float | None:
    """The seconds to wait, from the problem or the header; a date in the header is ignored."""
    try:
        seconds = float(stated if stated is not None else response.headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
