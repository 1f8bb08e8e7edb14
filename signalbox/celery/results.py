"""The result backend of Celery: `result_backend = "signalbox://user@host/db"` stores results in the database.

Results expire by `result_expires`. A chord counts each part once, however often its task ran.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from celery import states
from celery.backends.base import KeyValueStoreBackend
from celery.exceptions import TimeoutError as TimedOut
from kombu.utils.encoding import bytes_to_str, ensure_bytes

from signalbox.celery import calls
from signalbox.celery.options import dsn_of_url, shown
from signalbox.client import Client

#: Seconds between the first two looks at a result that is waited for; each later pause is twice as long.
FIRST_PAUSE_SECONDS = 0.01
PAUSE_SECONDS = 0.5


class ResultBackend(KeyValueStoreBackend):  # type: ignore[misc]
    """Celery's result backend over the verbs of the engine."""

    supports_native_join = True
    implements_incr = True
    persistent = True

    def __init__(self, app: Any, url: str | None = None, **options: Any) -> None:
        super().__init__(app, url=url, **options)
        #: The engine's verbs; a forked child gets connections of its own.
        self.verbs = Client(dsn_of_url(url if url and url.partition("://")[2] else app.conf.broker_url))
        self._ending = threading.local()

    def get(self, key: bytes) -> bytes | None:
        """Read one result; None without one."""
        return self.mget([key])[0]

    def mget(self, keys: list[bytes]) -> list[bytes | None]:
        """Read results in the order of the keys."""
        names = [bytes_to_str(key) for key in keys]
        rows = self.verbs._run(calls.read_results(names))
        found = dict(rows)
        return [found.get(name) for name in names]

    def set(self, key: bytes, value: str | bytes) -> None:
        """Store one result for the time of `result_expires`."""
        self.verbs._run(calls.store_result(bytes_to_str(key), ensure_bytes(value), self.expires or None))

    def delete(self, key: bytes) -> None:
        """Delete the result of a key."""
        self.verbs._run(calls.delete_results([bytes_to_str(key)]))

    def expire(self, key: bytes, value: float | None) -> None:
        """Keep a result until `value` seconds from now."""
        self.verbs._run(calls.keep_result(bytes_to_str(key), value or None))

    def incr(self, key: bytes) -> int:
        """Count the part of a chord that ends in this thread."""
        kept_seconds = getattr(self, "chord_expires", self.expires)  # older versions of Celery have no time for chords
        return self.verbs._run(calls.count_part(bytes_to_str(key), self._ending.task_id, kept_seconds or None))

    def on_chord_part_return(self, request: Any, state: Any, result: Any, **options: Any) -> Any:
        """Count the part of a chord, and publish the body of the chord after the last part."""
        self._ending.task_id = request.id
        return super().on_chord_part_return(request, state, result, **options)

    def wait_for(
        self,
        task_id: str,
        timeout: float | None = None,
        interval: float = PAUSE_SECONDS,
        no_ack: bool = True,
        on_interval: Any = None,
    ) -> Any:
        """Wait for a result: look often at first, then at the interval. Raises Celery's TimeoutError."""
        self._ensure_not_eager()
        ends_at = float("inf") if timeout is None else time.monotonic() + timeout
        pause = FIRST_PAUSE_SECONDS
        while (meta := self.get_task_meta(task_id))["status"] not in states.READY_STATES:
            if on_interval:
                on_interval()
            if (left := ends_at - time.monotonic()) <= 0:
                raise TimedOut("The operation timed out.")
            time.sleep(min(pause, left))
            pause = min(pause * 2, interval)
        return meta

    def cleanup(self) -> None:
        """Delete expired results; upkeep does so too."""
        self.verbs._run(calls.expire_results())

    def as_uri(self, include_password: bool = False) -> str:
        """The URL for people: without the password, unless asked for."""
        return (self.url or "") if include_password else shown(self.url or "")
