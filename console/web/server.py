"""Checks of the web server: a log without query strings, and a warning when clients reach it without a proxy."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from ipaddress import IPv6Address, ip_address
from pathlib import Path

WARNING = (
    "The server listens on %s, and bounds neither the size nor the time of a request's head. Let only a proxy that"
    " bounds both reach the server (docs/run/deploy/nginx.conf), or bound the size with --http h11"
    " --h11-max-incomplete-event-size 65536"
)
DEFAULT_HOST = "127.0.0.1"

log = logging.getLogger(__name__)


def warn() -> None:
    """Log a warning if clients can reach this process without a proxy."""
    if host := exposed_host(sys.argv, os.environ):
        log.warning(WARNING, host)


def exposed_host(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the address on which uvicorn listens without limits for heads; empty for loopback, sockets and limits."""
    if "uvicorn" not in Path(arguments[0] if arguments else "").parts[-2:]:
        return ""
    options = _options(arguments[1:])
    if options.keys() & {"--uds", "--fd"} or {"--http", "--h11-max-incomplete-event-size"} <= options.keys():
        return ""
    host = options.get("--host") or environment.get("UVICORN_HOST", "") or DEFAULT_HOST
    return "" if host == "localhost" or is_loopback(host.strip("[]")) else host


def _options(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, assigned, value = word.partition("=")
        if name.startswith("--"):
            found[name] = value if assigned else following
    return found


def is_loopback(text: str) -> bool:
    """Return whether a text is a loopback address: IPv4, IPv6 or IPv4 within IPv6."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback


PATH = 2  # uvicorn's arguments are client, method, path with query, version, status


class WithoutQuery(logging.Filter):
    """A log filter that removes the query string from the path of a request."""

    def filter(self, record: logging.LogRecord) -> bool:
        arguments = record.args
        if isinstance(arguments, tuple) and len(arguments) > PATH and isinstance(path := arguments[PATH], str):
            record.args = (*arguments[:PATH], path.partition("?")[0], *arguments[PATH + 1 :])
        return True
