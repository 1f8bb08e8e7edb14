"""Keys for tests: each of a name of its own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from console.access.api_keys import Key, keys
from console.access.api_keys.authentication import Doorkeeper
from console.access.api_keys.keys import NewKey
from queues.database.connections import dsn


def new_name() -> str:
    return f"key-{uuid.uuid4().hex[:10]}"


def new_key(scopes: str = "send", **options: Any) -> NewKey:
    """A key that was just made."""
    return keys.create(new_name(), scopes, actor="ana", **options)


def bearer(key: NewKey) -> str:
    return f"Bearer {key.text}"


def admitted(authorization: str) -> Key:
    """The key of a header, as a process that has just started finds it."""

    @asynccontextmanager
    async def connection() -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        async with await psycopg.AsyncConnection.connect(where, autocommit=True) as opened:
            yield opened

    where = dsn()
    return admitted_by(Doorkeeper(connection), authorization)


def admitted_by(doorkeeper: Doorkeeper, authorization: str | None) -> Key:
    """The key that a doorkeeper finds in a header."""
    return asyncio.run(doorkeeper.authenticate(authorization))
