"""Clients by their address, a database or an HTTP server, and the command-line options for that address."""

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
from signalbox.fleet.map import is_fleet, seed_of
from signalbox.verbs import Verbs


def connect(url: str, api_key: str | None = None, **options: Any) -> Verbs:
    """Make a client of the database at `url` (postgresql://, or any DSN of libpq), or of the server there (https://).

    `signalbox-fleet://`, followed by the address of any cell, makes a client of the whole fleet.

    A server requires an API key; the default is SIGNALBOX_API_KEY. `options` are those of `Client` or
    `HttpClient`. Nothing is opened before the first call.
    """
    if is_server(url):
        from signalbox.http import HttpClient

        return HttpClient(url, key_of(api_key), **options)
    if isinstance(url, str) and is_fleet(url):
        from signalbox.fleet.client import FleetClient

        return FleetClient(_dsn(seed_of(url), api_key), **options)
    return Client(_dsn(url, api_key), **options)


def connect_async(url: str, api_key: str | None = None, **options: Any) -> AsyncVerbs:
    """Make an asyncio client of the database or the server at `url`, as `connect` does."""
    if is_server(url):
        from signalbox.http import AsyncHttpClient

        return AsyncHttpClient(url, key_of(api_key), **options)
    if isinstance(url, str) and is_fleet(url):
        from signalbox.fleet.async_client import AsyncFleetClient

        return AsyncFleetClient(_dsn(seed_of(url), api_key), **options)
    return AsyncClient(_dsn(url, api_key), **options)


def is_server(url: str) -> bool:
    """Return whether the address is of a server, and not of a database."""
    return isinstance(url, str) and re.match("https?:", url, re.IGNORECASE) is not None


def key_of(api_key: str | None) -> str | None:
    """The given API key, or SIGNALBOX_API_KEY."""
    return api_key if api_key is not None else os.environ.get("SIGNALBOX_API_KEY") or None


def _dsn(url: str, api_key: str | None) -> str:
    if not isinstance(url, str):
        raise InvalidArgument(f"url must be text, not {type(url).__name__}", field="url")
    if api_key is not None:
        raise InvalidArgument("api_key is for a server: put the password of a database into its url", field="api_key")
    if (scheme := re.match(r"([a-z][a-z0-9+.-]*)://", url, re.IGNORECASE)) and scheme[1] not in (
        "postgresql",
        "postgres",
    ):
        raise InvalidArgument(f"url must begin with postgresql:// or https://, not {scheme[0][:40]}", field="url")
    return url


def add_address(parser: argparse.ArgumentParser, *others: str) -> None:
    """Add the options that `address_of` reads; `others` are further names of `--url`."""
    parser.add_argument(
        "--url",
        *others,
        metavar="URL",
        default=os.environ.get("SIGNALBOX_URL") or os.environ.get("DATABASE_URL"),
        help="database (postgresql://...) or server (https://...); default SIGNALBOX_URL, then DATABASE_URL",
    )
    parser.add_argument(
        "--api-key-file",
        metavar="FILE",
        type=Path,
        help="file with the API key for a server; default SIGNALBOX_API_KEY",
    )


def address_of(args: argparse.Namespace) -> tuple[str, str | None]:
    """The address of the database or server, and the API key of a server. Raises InvalidArgument without one."""
    if not args.url:
        raise InvalidArgument("name the database or the server with --url, SIGNALBOX_URL or DATABASE_URL", field="url")
    if not is_server(args.url):
        if args.api_key_file is not None:
            raise InvalidArgument(
                "--api-key-file is for a server, but --url names a database: leave it out", field="api_key"
            )
        return args.url, None
    key = _read(args.api_key_file) if args.api_key_file is not None else key_of(None)
    if key is None:
        raise InvalidArgument(
            "a server needs an API key: give --api-key-file, or set SIGNALBOX_API_KEY", field="api_key"
        )
    return args.url, key


def _read(path: Path) -> str:
    """Read the API key, the last word of a file, which may hold all output of `manage.py apikey create`."""
    try:
        lines = path.read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"--api-key-file: cannot read {path}: {error}", field="api_key") from error
    if not lines:
        raise InvalidArgument(f"--api-key-file: {path} is empty", field="api_key")
    return lines[-1]
