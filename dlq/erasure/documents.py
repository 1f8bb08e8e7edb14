"""Test whether a row contains the value of an erasure, in its document or in its large body in the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dlq.erasure.target import Target, Unreadable
from queues.bodies import store
from queues.erasure.locations import Row
from signalbox.errors import BodyMissing


class StoreAway(Exception):  # noqa: N818 - it names what happened
    """The store of large bodies cannot be read at the moment."""


@contextmanager
def store_errors() -> Iterator[None]:
    """Convert errors of the store to `StoreAway`, except for a missing body: the others may be temporary."""
    try:
        yield
    except BodyMissing:
        raise
    except Exception as error:
        raise StoreAway(StoreAway.__doc__) from error


class Documents:
    """Reader of documents for one batch, which reads shared bodies once. `unreadable` counts documents not read."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.unreadable = 0
        self._bodies: dict[bytes, bool] = {}

    def hold(self, row: Row) -> bool:
        """Tell whether the row contains the value."""
        if row.plain:
            return row.text is not None and self.target.quoted_in(row.text)
        if row.sha256 is not None:
            return self._body_holds(row.sha256)
        return row.text is not None and self._holds(row.text)

    def _body_holds(self, sha256: bytes) -> bool:
        if sha256 not in self._bodies:
            try:
                with store_errors(), store().open(sha256.hex()) as body:
                    content = body.read()
                self._bodies[sha256] = self._holds(content)
            except BodyMissing:
                self.unreadable += 1
                self._bodies[sha256] = False
        return self._bodies[sha256]

    def _holds(self, document: str | bytes) -> bool:
        try:
            return self.target.holds(document)
        except Unreadable:
            self.unreadable += 1
            return False
