"""Servers of the benchmark, each a uvicorn over the benchmark's database."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psutil

from bench.server import MANAGE

START_SECONDS = 120
STOP_SECONDS = 60
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Endpoint:
    """Server that answers at this port; `key` is empty if none is needed."""

    name: str
    port: int
    process: psutil.Process
    key: str = ""

    def cpu_seconds(self) -> float:
        return float(sum(self.process.cpu_times()[:2]))


@contextmanager
def serving(home: Path, url: str) -> Iterator[tuple[Endpoint, Endpoint]]:
    """Start the API and the bare endpoint."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("API_")}
    environment = {**inherited, "SIGNALBOX_HOME": str(home), "DATABASE_URL": url, "HTTPS_ONLY": "false"}
    key = subprocess.run(
        [sys.executable, str(MANAGE), "apikey", "create", f"bench-{uuid4().hex[:12]}", "--scopes", "*", "--sqs"],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()[-1]
    with _server("console.asgi", environment) as api, _server("bench.over_http.bare", environment) as bare:
        yield Endpoint("HTTP API", *api, key), Endpoint("bare endpoint", *bare)


@contextmanager
def moto_server() -> Iterator[Endpoint]:
    """Start moto's server, which answers SQS from memory, and closes each connection after its answer."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, process)
        yield Endpoint("moto's server", port, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


@contextmanager
def _server(module: str, environment: dict[str, str]) -> Iterator[tuple[int, psutil.Process]]:
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", f"{module}:application", "--port", str(port)]
    quiet = ["--log-level", "warning", "--no-access-log"]
    process = subprocess.Popen([*command, *quiet], env=environment, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, process)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def free_port() -> int:
    """Port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the process listens at the port."""
    ends_at = time.monotonic() + START_SECONDS
    while time.monotonic() < ends_at and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the server at port {port} did not start")
