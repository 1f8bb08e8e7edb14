"""Benchmark of long polls: time to wake a waiting poll, and cost of thousands that wait for nothing."""

from __future__ import annotations

import asyncio
import resource
import statistics
import time
from dataclasses import dataclass

from bench.comparison import Arena
from bench.over_http.load import BODY, connect
from bench.over_http.serving import Endpoint

WAKE_UPS = 200
POLLS = 2_000
PAUSE_SECONDS = 0.03
IDLE_SECONDS = 8.0
REST_SECONDS = 3.0
WAIT_SECONDS = 20


@dataclass(frozen=True)
class WakeUps:
    """Milliseconds from the answer to a send until a waiting poll has the message."""

    wake_ups: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True)
class IdlePolls:
    """Cost of each second in which all polls wait, without upkeep, and the memory of the server."""

    polls: int
    server_cpu_ms: float
    postgres_cpu_ms: float
    kilobytes_each: float
    threads: int
    connections: int


async def wake_ups(endpoint: Endpoint, queue: str, count: int) -> WakeUps:
    """Let one poll wait, send one message, and repeat."""
    path = f"/v1/queues/{queue}/messages"
    waiting, sending = await connect(endpoint), await connect(endpoint)
    taken = []
    for _ in range(count):
        poll = asyncio.create_task(waiting.ask(f"{path}:receive", {"waitSeconds": WAIT_SECONDS}))
        await asyncio.sleep(PAUSE_SECONDS)
        await sending.ask(path, {"body": BODY})
        began = time.perf_counter()
        (message,) = (await poll)["messages"]
        taken.append((time.perf_counter() - began) * 1000)
        await sending.ask(f"{path}/{message['receiptHandle']}:ack")
    p95 = statistics.quantiles(taken, n=20)[-1] if count > 1 else taken[0]
    return WakeUps(count, statistics.median(taken), p95)


async def idle_polls(endpoint: Endpoint, arena: Arena, queue: str, polls: int) -> IdlePolls:
    """Measure the server while all polls wait and no message comes."""
    room_for(2 * polls)
    path = f"/v1/queues/{queue}/messages"
    with arena.meter.measure() as rest:
        await asyncio.sleep(REST_SECONDS)
    memory = endpoint.process.memory_info().rss
    lines = [await connect(endpoint) for _ in range(polls)]
    began = time.monotonic()
    waiting = [asyncio.create_task(line.ask(f"{path}:receive", {"waitSeconds": WAIT_SECONDS})) for line in lines]
    await _quiet(endpoint)
    cpu_seconds = endpoint.cpu_seconds()
    with arena.meter.measure() as cost:
        left = WAIT_SECONDS - (time.monotonic() - began)  # then the first polls are answered
        await asyncio.sleep(max(0.5, min(IDLE_SECONDS, left - 1.0)))
    held = IdlePolls(
        polls=polls,
        server_cpu_ms=(endpoint.cpu_seconds() - cpu_seconds) / cost.seconds * 1000,
        postgres_cpu_ms=(cost.cpu_seconds / cost.seconds - rest.cpu_seconds / rest.seconds) * 1000,
        kilobytes_each=(endpoint.process.memory_info().rss - memory) / polls / 1000,
        threads=endpoint.process.num_threads(),
        connections=_connections(arena),
    )
    for poll in waiting:
        poll.cancel()
    for line in lines:
        line.writer.close()
    return held


async def _quiet(endpoint: Endpoint) -> None:
    """Wait until the server has accepted all polls and is nearly idle."""
    while True:
        before = endpoint.cpu_seconds()
        await asyncio.sleep(0.5)
        if endpoint.cpu_seconds() - before < 0.1:
            return


def _connections(arena: Arena) -> int:
    """Connections of the server to the database, by their application names."""
    row = arena.connection.execute(
        "select count(*) from pg_stat_activity"
        " where application_name in ('signalbox api', 'signalbox listener', 'signalbox long polls')"
    ).fetchone()
    return int(row[0]) if row else 0


def room_for(files: int) -> None:
    """Raise the limit of open files for this process and its children."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, files + 1_000)), hard))
