"""When a call is made again: only where that does no harm, and not for long.

What was surely not carried out (no connection was made, or the key had used up its rate) may always be asked again.
What may have been is asked again where the verb is carried out once all the same: reads, acks, and sends under a key
of our own.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import httpx

from signalbox.http.call import Answer, Call
from signalbox.http.problems import error_of, slug_of
from signalbox.logs.errors import name_of
from signalbox.pauses import Backoff
from signalbox.server_errors import RateLimited, ServerUnavailable

#: The first pause before another attempt and the longest, in seconds.
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0

#: Something is wrong that another attempt would meet again.
_BROKEN = 500
_FIRST_ERROR = 400

T = TypeVar("T")


class Attempts(Generic[T]):
    """The attempts at one call: what each request is, and what to make of its end.

    `answered` and `failed` return a pause in seconds after which to ask again, or raise what the caller is to know.
    """

    def __init__(self, call: Call[T], retry_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._call = call
        self._clock = clock
        self._ends_at = clock() + retry_seconds
        self._key = str(uuid.uuid4()) if call.keyed and retry_seconds else None
        self._backoff = Backoff(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        self._doubtful = False
        #: What the verb returns, once `answered` has returned None.
        self.result: T

    @property
    def headers(self) -> dict[str, str]:
        """Of each request; the key is the same for all attempts."""
        content = {"Content-Type": "application/json"} if self._call.content is not None else {}
        return content | ({"Idempotency-Key": self._key} if self._key else {})

    def answered(self, response: httpx.Response) -> float | None:
        """There is an answer: None when it is `result` now, else seconds to wait before asking again."""
        document = _document(response)
        if response.is_success:
            self.result = self._read(response, document)
            return None
        problem = document if isinstance(document, Mapping) else {}
        if (slug := slug_of(problem)) in self._call.instead:
            self.result = self._call.instead[slug]
            return None
        error = self._error(response, problem)
        if isinstance(error, RateLimited):
            return self._again_after(_retry_after(response, error.retry_after), error)
        if isinstance(error, ServerUnavailable) and response.status_code != _BROKEN:
            again = self._again_after if error.nothing_done else self._in_doubt
            return again(_retry_after(response, None), error)
        raise error

    def failed(self, error: httpx.RequestError) -> float:
        """There is no answer: seconds to wait before asking again."""
        unasked = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        words = f"{self._call.method} {self._call.path}: {name_of(error)}: {error}"
        lost = ServerUnavailable(words, "no-connection" if unasked else "connection-lost", nothing_done=unasked)
        lost.__cause__ = error
        if unasked:
            return self._again_after(None, lost)
        if isinstance(error, httpx.TransportError):
            return self._in_doubt(None, lost)
        raise lost

    def _error(self, response: httpx.Response, problem: Mapping[str, Any]) -> Exception:
        """What the answer stands for; what stands between us and the server may refuse in words of its own."""
        known = {"title": response.reason_phrase, **problem, "status": response.status_code}
        try:
            return error_of(known, self._call.names)
        except (LookupError, TypeError, ValueError, AttributeError):
            return error_of({"title": response.reason_phrase, "status": response.status_code}, self._call.names)

    def _read(self, response: httpx.Response, document: Any) -> T:
        try:
            return self._call.read(Answer(document, self._doubtful))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ServerUnavailable(f"{response.url} gave an answer that is not understood") from error

    def _in_doubt(self, pause: float | None, error: Exception) -> float:
        if not (self._call.repeatable and (self._key or not self._call.keyed)):
            raise error
        pause = self._again_after(pause, error)
        self._doubtful = True
        return pause

    def _again_after(self, pause: float | None, error: Exception) -> float:
        """The pause, unless it would last longer than there is time."""
        pause = max(pause or 0.0, self._backoff.pause())
        if self._clock() + pause > self._ends_at:
            raise error
        return pause


def _document(response: httpx.Response) -> Any:
    if not response.content:
        return None
    try:
        return json.loads(response.content)
    except ValueError as error:
        if response.status_code < _FIRST_ERROR:
            raise ServerUnavailable(f"{response.url} answered with something that is not JSON") from error
        return None


def _retry_after(response: httpx.Response, said: float | None) -> float | None:
    """Seconds, of the problem or of the header; a header may be a date, which our server does not write."""
    try:
        seconds = float(said if said is not None else response.headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
