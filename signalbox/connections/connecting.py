"""Clients by address: of a database, or of a server over HTTP; and the options of a command line for either."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import Any

from signalbox.async_client import AsyncClient
from signalbox.async_verbs import AsyncVerbs
from signalbox.client import Client
from signalbox.errors import InvalidArgument
from signalbox.verbs import Verbs


def connect(url: str, api_key: str | None = None, **options: Any) -> Verbs:
    """Make a client of the database at `url` (postgresql://, or any DSN of libpq), or of the server there (https://).

    A server requires an API key; the default is SIGNALBOX_API_KEY. `options` are those of `Client` or
    `HttpClient`. Nothing is opened before the first call.
    """
    if is_server(url):
        from signalbox.http import HttpClient

        return HttpClient(url, key_of(api_key), **options)
    return Client(_dsn(url, api_key), **options)


def connect_async(url: str, api_key: str | None = None, **options: Any) -> AsyncVerbs:
    """Make an asyncio client of the database or the server at `url`, as `connect` does."""
    if is_server(url):
        from signalbox.http import AsyncHttpClient

        return AsyncHttpClient(url, key_of(api_key), **options)
    return AsyncClient(_dsn(url, api_key), **options)


def is_server(url: str) -> bool:
    """Return whether the address is of a server, and not of a database."""
    return isinstance(url, str) and re.match("https?:", url, re.IGNORECASE) is not None


def key_of(api_key: str | None) -> str | None:
    """The given API key, or that of the environment."""
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


def add_address(parser: argparse.ArgumentParser, *others: str) -> None:
    """The options that `address_of` reads; `others` are further names for the address."""
    parser.add_argument(
        "--url",
        *others,
        metavar="URL",
        default=os.environ.get("SIGNALBOX_URL") or os.environ.get("DATABASE_URL"),
        help="a database (postgresql://...) or a server (https://...); else SIGNALBOX_URL, or DATABASE_URL",
    )
    parser.add_argument(
        "--api-key-file", metavar="FILE", type=Path, help="a file with the key for a server; else SIGNALBOX_API_KEY"
    )


def address_of(given: argparse.Namespace) -> tuple[str, str | None]:
    """The address of the queues, with the API key of a server. Raises InvalidArgument without one."""
    if not given.url:
        raise InvalidArgument("name the database or the server with --url, SIGNALBOX_URL or DATABASE_URL", field="url")
    if not is_server(given.url):
        if given.api_key_file is not None:
            raise InvalidArgument("--api-key-file is for a server, and --url names a database", field="api_key")
        return given.url, None
    key = _read(given.api_key_file) if given.api_key_file is not None else key_of(None)
    if key is None:
        raise InvalidArgument("a server wants a key: --api-key-file, or SIGNALBOX_API_KEY", field="api_key")
    return given.url, key


def _read(path: Path) -> str:
    """The last word of the file, which may be the output of `manage.py apikey create`."""
    try:
        lines = path.read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"--api-key-file: cannot read {path}: {error}", field="api_key") from error
    if not lines:
        raise InvalidArgument(f"--api-key-file: {path} is empty", field="api_key")
    return lines[-1]
