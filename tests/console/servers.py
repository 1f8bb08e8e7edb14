"""A console as it runs in earnest: its own process, serving the test database over HTTP."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlencode

from psycopg.conninfo import conninfo_to_dict

from tests.ports import free_port

STARTS_WITHIN_SECONDS = 120
STOPS_WITHIN_SECONDS = 90


@dataclass(frozen=True)
class Server:
    url: str
    process: subprocess.Popen[bytes]


@contextmanager
def console_server(dsn: str, port: int | None = None, **variables: str) -> Iterator[Server]:
    """Start a server and wait for its answer; stop it at the end. Takes a port, or picks a free one, and settings."""
    port = port or free_port()
    command = [sys.executable, "-m", "uvicorn", "tests.console.patient_console:application", "--port", str(port)]
    process = subprocess.Popen([*command, "--log-level", "warning"], env=environment_of(dsn) | variables)
    try:
        _wait_for(f"http://127.0.0.1:{port}/login", process)
        yield Server(f"http://127.0.0.1:{port}", process)
    finally:
        process.terminate()
        process.wait(timeout=STOPS_WITHIN_SECONDS)


def environment_of(dsn: str) -> dict[str, str]:
    """Environment of a process of the project over this database."""
    parts = {name: value for name, value in conninfo_to_dict(dsn).items() if name != "options"}
    return {**os.environ, "DATABASE_URL": f"postgresql:///?{urlencode(parts)}", "HTTPS_ONLY": "false"}


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    ends_at = time.monotonic() + STARTS_WITHIN_SECONDS
    while True:
        try:
            urllib.request.urlopen(url, timeout=30)
        except (urllib.error.URLError, OSError):
            if time.monotonic() > ends_at or process.poll() is not None:
                raise
            time.sleep(0.1)
        else:
            return
