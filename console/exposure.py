"""Warn at start-up when clients can reach the server without a proxy, which must bound the heads of requests."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path

WARNING = (
    "The server listens on %s, and bounds neither the size nor the time of a request's head. Let only a proxy that"
    " bounds both reach the server (docs/deploy/nginx.conf), or bound the size with --http h11"
    " --h11-max-incomplete-event-size 65536"
)
DEFAULT_HOST = "127.0.0.1"

log = logging.getLogger(__name__)


def warn() -> None:
    """Log the warning, once for each process that serves."""
    if host := exposed_host(sys.argv, os.environ):
        log.warning(WARNING, host)


def exposed_host(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """The address on which uvicorn serves without bounds; empty when it is loopback, a socket, or bounded."""
    if "uvicorn" not in Path(arguments[0] if arguments else "").parts[-2:]:
        return ""
    options = _options(arguments[1:])
    if options.keys() & {"--uds", "--fd"} or {"--http", "--h11-max-incomplete-event-size"} <= options.keys():
        return ""
    host = options.get("--host") or environment.get("UVICORN_HOST", "") or DEFAULT_HOST
    return "" if _is_loopback(host) else host


def _options(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, assigned, value = word.partition("=")
        if name.startswith("--"):
            found[name] = value if assigned else following
    return found


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
