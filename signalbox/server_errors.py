"""Errors of a server that a database does not have; each class's docstring is its default message."""
# ruff: noqa: N818 - as in signalbox.errors

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from signalbox.connections.unavailable import BY_SLUG, Unavailable
from signalbox.errors import SignalboxError


class Unauthorized(SignalboxError):
    """The API key is missing, unknown, expired or revoked."""


class Forbidden(SignalboxError):
    """The API key lacks the scope for this."""


class ServerUnavailable(Unavailable, ConnectionError):
    """The server gave no answer that says what was done: what was asked for may or may not have been done.

    Over HTTP it is what `DatabaseUnavailable` is over the database. Where the server says what its own database lacks,
    `cause` has it, and `nothing_done` whether it is certain that nothing was done.
    """

    def __init__(self, message: str = "", cause: str = "", *, nothing_done: bool = False) -> None:
        super().__init__(message or inspect.cleandoc(type(self).__doc__ or type(self).__name__))
        self.cause = cause
        self.nothing_done = nothing_done or (cause in BY_SLUG and BY_SLUG[cause].nothing_done)


class RateLimited(ServerUnavailable):
    """The API key has used up its rate or its connections; nothing was done. `retry_after` is in seconds."""

    def __init__(self, message: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, nothing_done=True)
        self.retry_after = retry_after


class OutcomeUnknown(ServerUnavailable):
    """The answer to a first attempt was lost, and at the second the lease was no longer held.

    Either the first attempt has settled the message, or the lease had ended before. `answers` has what the second
    attempt said of each receipt handle: what it says is settled, is.
    """

    def __init__(self, message: str = "", answers: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.answers = dict(answers or {})
