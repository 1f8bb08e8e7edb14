"""What a command line says of where the queues are: an address, and for a server the key."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, field
from pathlib import Path

from signalbox.connecting import is_server, key_of
from signalbox.errors import InvalidArgument


@dataclass(frozen=True)
class Address:
    """A database or a server."""

    url: str
    api_key: str | None = field(default=None, repr=False)


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


def address_of(given: argparse.Namespace) -> Address:
    """Where the queues are. Raises InvalidArgument when nobody said."""
    if not given.url:
        raise InvalidArgument("name the database or the server with --url, SIGNALBOX_URL or DATABASE_URL", field="url")
    if not is_server(given.url):
        if given.api_key_file is not None:
            raise InvalidArgument("--api-key-file is for a server, and --url names a database", field="api_key")
        return Address(given.url)
    key = _read(given.api_key_file) if given.api_key_file is not None else key_of(None)
    if key is None:
        raise InvalidArgument("a server wants a key: --api-key-file, or SIGNALBOX_API_KEY", field="api_key")
    return Address(given.url, key)


def _read(path: Path) -> str:
    """The last line that says something: what `manage.py apikey create` prints may be kept as it is."""
    try:
        lines = path.read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"--api-key-file: cannot read {path}: {error}", field="api_key") from error
    if not lines:
        raise InvalidArgument(f"--api-key-file: {path} is empty", field="api_key")
    return lines[-1]
