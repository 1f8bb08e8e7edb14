"""Authentication of requests: the API key, and what it may do and see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from console.access.api_keys import Key, LimitExceeded, Unauthorized, admitted, authenticate
from console.api.core import database
from console.api.core.problems import Problem, problem_of
from queues.control import maintenance
from queues.errors import InMaintenance

CHANGING = {"redrive", "purge", "configure"}
SAFE_METHODS = {"GET", "HEAD"}
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="signalbox"'}


async def key_of(authorization: str | None, client: str | None = None) -> Key:
    """Return the API key that this header names. Raises the problem `unauthorized`."""
    try:
        return await authenticate(authorization, client)
    except Unauthorized as error:
        raise Problem("unauthorized", str(error), headers=CHALLENGE) from error


@asynccontextmanager
async def within_limits(key: Key | None) -> AsyncIterator[None]:
    """Count one request against the key's limits. Raises `rate-exceeded` and `too-many-connections`."""
    try:
        async with admitted(key) if key else nullcontext():
            yield
    except LimitExceeded as error:
        raise Problem(
            "rate-exceeded" if error.limit_name == "rate" else "too-many-connections",
            str(error),
            limitName=error.limit_name,
            limit=error.limit,
            actual=error.actual,
            retryAfter=error.retry_after,
        ) from error


class ApiKey:
    """Requirement of a route: a key with one scope. The route finds the key in `request.auth`."""

    is_async = True
    openapi_security_schema = {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key of this installation, made by `manage.py apikey create` or in the console.",
    }

    def __init__(self, scope: str) -> None:
        self.scope = scope

    async def __call__(self, request: Any) -> Key:
        await check_scope(request.key, self.scope, changes=request.method not in SAFE_METHODS)
        return request.key


async def check_scope(key: Key, scope: str, *, changes: bool) -> None:
    """Check that the key has the scope, and that no maintenance forbids a change. Raises `Problem`."""
    if not key.may(scope):
        raise Problem("scope-lacking", f"The key {key.name} lacks the scope {scope}.", scope=scope)
    if scope in CHANGING and changes:
        row = await database.in_thread(maintenance.current)  # one query; such requests are rare
        if row is not None:
            words = f"Maintenance by {row.started_by}, {row.announced_end}: {row.reason} Nothing was changed."
            raise problem_of(InMaintenance(words, row.until.isoformat() if row.until else None))
