"""The server that clients over HTTP ask: a process of its own over the test database, and keys for it."""

from __future__ import annotations

import itertools

from console.api_keys import keeping

_numbers = itertools.count(1)


def new_key(scopes: str = "*", **options: object) -> str:
    """The text of a new key."""
    return keeping.create(f"client-test-{next(_numbers)}", scopes, actor="test", **options).text
