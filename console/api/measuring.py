"""What a request takes, for `signalbox_api_request_duration_seconds`: by its route as it is declared."""

from __future__ import annotations

import re
import time
from functools import lru_cache

from console.api.routes import PREFIX
from metrics.api_requests import API_REQUESTS

NOWHERE = "none"
METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"})


class Measured:
    """One request, from its head to its answer."""

    def __init__(self, method: str) -> None:
        self._began = time.perf_counter()
        self._method = method if method in METHODS else "other"
        self._route = NOWHERE
        self._waits = ""

    def goes_to(self, pattern: str) -> None:
        """It has a place to go to; `pattern` is as Django says it, without the prefix of all."""
        self._route = _declared(pattern)

    def waits(self) -> None:
        """It may take as long as its sender likes: counted apart."""
        self._waits = " waiting"

    def ends(self, status: int | None) -> None:
        """It was answered; None: nobody was there any more."""
        outcome = "gone" if status is None else f"{status // 100}xx"
        route = self._route if self._route == NOWHERE else f"{self._method} {self._route}{self._waits}"
        API_REQUESTS.observe(route, outcome, time.perf_counter() - self._began)


@lru_cache(maxsize=1000)
def _declared(pattern: str) -> str:
    return PREFIX + _PARAMETER.sub(r"{\1}", pattern)


_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
