"""Keys for tests: each of a name of its own."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from console.api_keys import Key, keeping
from console.api_keys.authentication import Doorkeeper
from console.api_keys.keeping import NewKey


def new_name() -> str:
    return f"key-{uuid.uuid4().hex[:10]}"


def new_key(scopes: str = "send", **options: Any) -> NewKey:
    """A key that was just made."""
    return keeping.create(new_name(), scopes, actor="ana", **options)


def bearer(key: NewKey) -> str:
    return f"Bearer {key.text}"


def admitted_by(doorkeeper: Doorkeeper, authorization: str | None) -> Key:
    """The key that a doorkeeper finds in a header."""
    return asyncio.run(doorkeeper.authenticate(authorization))
