"""The process that keeps the Spark server of this machine: it holds the Java, and ends it when nobody has use for it.

The Java reads our end of a pipe and ends with us, be it by kill -9. It listens on the loopback interface alone, on a
port of the system's choice, and answers only to the token in the address file.
"""

from __future__ import annotations

import errno
import os
import secrets
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psutil

from pipeline.on_spark import loaded_classes
from pipeline.on_spark.loaded_classes import LoadedClasses
from pipeline.on_spark.server import TELL_SECONDS, Address, Life, Place, Tell
from pipeline.on_spark.sessions import java_environment, settings_of
from queues.embedded import locks
from queues.stopping import Stopping, on_signals

ASKED = "it was asked to stop"
LOOK_SECONDS = 0.5
ROOM_SECONDS = 2.0
"""How long a look of somebody else's may hold the keeper's lock."""

CONNECT = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    # Jobs bring no code of their own, so they may share Python's processes, and the next need not start any.
    "spark.sql.artifact.isolation.enabled": "false",
}


class Server(Protocol):
    """What is kept."""

    token: str
    port: int

    def lives(self) -> bool: ...
    def clear(self) -> None: ...
    def stop(self) -> None: ...


def serve(place: Place, start: Callable[[], Server], idle_seconds: float, owner: int, tell: Tell) -> str:
    """Keep a server until nobody has used it for so long, or its owner has ended; returns why it ended.

    Returns at once when another process keeps one.
    """
    place.prepare()
    kept = locks.try_exclusive(place.kept, ROOM_SECONDS)
    if kept is None:
        return "another process keeps a server"
    os.ftruncate(kept, 0)
    os.write(kept, str(os.getpid()).encode())
    place.address.unlink(missing_ok=True)
    place.uses.unlink(missing_ok=True)
    asked = Stopping()
    on_signals(asked.set, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    java, life = start(), Life()
    place.write(Address(os.getpid(), java.port, java.token))
    life.used = time.monotonic()
    try:
        life.ended = _watch(place, java, life, _Watcher(idle_seconds, _process(owner), asked), tell)
    finally:
        place.address.unlink(missing_ok=True)
        os.close(kept)  # the next may start while this one stops
        java.stop()
    tell(life)
    return life.ended


@dataclass(frozen=True)
class _Watcher:
    idle_seconds: float
    owner: _Owner | None
    asked: Stopping

    def reason(self, life: Life) -> str:
        """Why a server that nobody uses should end; empty when it should not."""
        if self.asked.is_set():
            return ASKED
        if self.owner is not None and not self.owner.is_running():
            return "the worker that had started it ended"
        if life.idle_seconds >= self.idle_seconds:
            return f"nobody used it for {self.idle_seconds:.0f} s"
        return ""


def _watch(place: Place, java: Server, life: Life, watcher: _Watcher, tell: Tell) -> str:
    told, as_told = 0.0, (-1, False)
    while java.lives():
        alone = _look(place, life, as_told[0])
        is_new = (life.jobs, life.busy) != as_told
        if alone is not None:
            if is_new:
                java.clear()
            if reason := watcher.reason(life):
                place.address.unlink(missing_ok=True)  # who waits for the lock finds no server, and starts the next
                os.close(alone)
                return reason
            os.close(alone)
        elif watcher.asked.is_set():
            return ASKED
        if is_new or time.monotonic() - told > TELL_SECONDS:
            tell(life)
            told, as_told = time.monotonic(), (life.jobs, life.busy)
        watcher.asked.wait(LOOK_SECONDS)
    return "its Java ended"


def _look(place: Place, life: Life, jobs_before: int) -> int | None:
    """Note how it goes. The lock that a server may be ended under, where nobody uses it."""
    alone = locks.try_exclusive(place.in_use)
    life.busy = alone is None
    life.jobs = place.uses.stat().st_size if place.uses.exists() else 0
    if life.busy or life.jobs != jobs_before:
        life.used = time.monotonic()
    return alone


def _process(pid: int) -> _Owner | None:
    try:
        return psutil.Process(pid) if pid else None
    except psutil.NoSuchProcess:
        return _Gone()


class _Owner(Protocol):
    def is_running(self) -> bool: ...


class _Gone:
    """An owner that ended before we looked."""

    def is_running(self) -> bool:
        return False


class Java:
    """A classic Spark context with the plugin that serves Spark Connect."""

    def __init__(self, master: str, options: Mapping[str, object], classes: Path) -> None:
        from pyspark import SparkConf, SparkContext

        self.token = secrets.token_urlsafe(32)
        self.port, self.other = own_port()
        given = settings_of(master, options) | CONNECT | {"spark.connect.grpc.binding.port": str(self.port)}
        self.started = ExitStack()
        given = self.started.enter_context(LoadedClasses(classes).used(given))
        conf = SparkConf().setMaster(master).setAppName("signalbox server").setAll(list(given.items()))
        # In no command line, which everybody may read.
        with java_environment(SPARK_CONNECT_AUTHENTICATE_TOKEN=self.token):
            self.context = SparkContext(conf=conf)
        gateway: Any = self.context._gateway
        self.process = gateway.proc

    def lives(self) -> bool:
        return self.process.poll() is None

    def clear(self) -> None:
        """End what jobs that were killed have left under way. Nobody uses it: whoever wants to waits for our lock."""
        self.context.cancelAllJobs()

    def stop(self) -> None:
        """Which may take some seconds more where its classes are written down for the next."""
        with self.started:
            loaded_classes.end(self.process)


def own_port() -> tuple[int, socket.socket | None]:
    """A free port of 127.0.0.1, and the same of ::1, held: clients try that address of localhost first, and would give
    their token to whoever listens there. None where there is no such address.
    """
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        other = None
        try:
            other = socket.socket(socket.AF_INET6)
            other.bind(("::1", port))
        except OSError as error:
            if other is not None:
                other.close()
            if error.errno != errno.EADDRINUSE:
                return port, None
        else:
            return port, other
