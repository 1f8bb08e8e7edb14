"""A client for an address: in the database or over HTTP, whichever the address is of."""

from __future__ import annotations

import os
import re
from typing import Any

from signalbox.async_client import AsyncClient
from signalbox.client import Client
from signalbox.errors import InvalidArgument
from signalbox.verbs import AsyncVerbs, Verbs


def connect(url: str, api_key: str | None = None, **options: Any) -> Verbs:
    """A client of the database at `url` (postgresql://, or what else libpq takes), or of the server there (https://).

    A server wants an API key; it is SIGNALBOX_API_KEY where none is given. `options` are those of `Client` or
    `HttpClient`. Nothing is opened before the first call.
    """
    if is_server(url):
        from signalbox.http import HttpClient

        return HttpClient(url, key_of(api_key), **options)
    return Client(_dsn(url, api_key), **options)


def connect_async(url: str, api_key: str | None = None, **options: Any) -> AsyncVerbs:
    """The same for asyncio."""
    if is_server(url):
        from signalbox.http import AsyncHttpClient

        return AsyncHttpClient(url, key_of(api_key), **options)
    return AsyncClient(_dsn(url, api_key), **options)


def is_server(url: str) -> bool:
    """Is this the address of a server, and not of a database?"""
    return isinstance(url, str) and re.match("https?:", url, re.IGNORECASE) is not None


def key_of(api_key: str | None) -> str | None:
    """The API key given, or that of the environment."""
    return api_key if api_key is not None else os.environ.get("SIGNALBOX_API_KEY") or None


def _dsn(url: str, api_key: str | None) -> str:
    if not isinstance(url, str):
        raise InvalidArgument(f"url must be text, not {type(url).__name__}", field="url")
    if api_key is not None:
        raise InvalidArgument("api_key is for a server: a database asks for a password in its url", field="api_key")
    if (scheme := re.match(r"([a-z][a-z0-9+.-]*)://", url, re.IGNORECASE)) and scheme[1] not in (
        "postgresql",
        "postgres",
    ):
        raise InvalidArgument(f"url must begin with postgresql:// or https://, not {scheme[0][:40]}", field="url")
    return url
