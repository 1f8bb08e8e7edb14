"""A run: gather the company, let the nemesis work, stop the faults, drain the queues, and ask the checker."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.chaos.company.company import Company, Place
from tests.chaos.company.queues import QUEUES, TABLES
from tests.chaos.company.roles import COMPANY
from tests.chaos.faults.every_fault import FAULTS
from tests.chaos.faults.nemesis import Nemesis
from tests.chaos.faults.proxy import Proxy
from tests.chaos.faults.recovery import Recovery, recoveries
from tests.chaos.faults.schedule import WEIGHTS, schedule
from tests.chaos.judging import history
from tests.chaos.judging.checker import Verdict, check
from tests.chaos.judging.history import OK, Journal
from tests.chaos.judging.truth import left, read_truth
from tests.chaos.phases import Phase, phases_of, work_through
from tests.chaos.server import ChaosServer
from tests.ports import free_port

#: How long a drain may go without getting anywhere.
STUCK_SECONDS = 180.0
WARM_UP_PROBES = 3
#: By which a schedule goes on that is over before all messages are sent.
MORE_FAULTS = 50


@dataclass(frozen=True)
class Plan:
    seed: int
    faults: int = 60
    messages: int = 0
    """Continue with faults until this number of messages was sent."""
    pause_seconds: float = 1.2
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    phases: bool = False
    """The five phases and four cells first, and the faults after them."""


@dataclass
class Result:
    plan: Plan
    verdict: Verdict
    faults: Counter[str]
    """That took place, by kind."""
    recoveries: dict[str, Recovery]
    seconds: float
    drain_seconds: float
    errors: list[str]
    phases: list[Phase]


def run(plan: Plan, server: ChaosServer, say: Callable[[str], None]) -> Result:
    """Run on a server that is running and empty."""
    began = time.monotonic()
    folder = server.home / "history"
    folder.mkdir()
    prepare(server)
    errors, drain_seconds = perform(plan, server, folder, say)
    with server.connect_patiently() as connection:
        truth = read_truth(connection, QUEUES)
    operations = list(history.read(folder))
    verdict = check(operations, truth)
    done = Counter(one.arguments["fault"] for one in operations if one.kind == "fault" and one.outcome == OK)
    seconds = time.monotonic() - began
    return Result(plan, verdict, done, recoveries(operations), seconds, drain_seconds, errors, phases_of(operations))


def perform(plan: Plan, server: ChaosServer, folder: Path, say: Callable[[str], None]) -> tuple[list[str], float]:
    """Run from the first client to the last message; return errors of faults, and the time to drain."""
    proxy = Proxy(str(server.socket), free_port())
    proxy.start()
    company = Company(server, folder, plan.seed, proxy.port)
    nemesis = Nemesis(server, company, proxy, Journal(folder / "nemesis.jsonl"), FAULTS)
    try:
        company.gather(COMPANY)
        wait_for_probes(folder, WARM_UP_PROBES)
        if plan.phases:
            work_through(nemesis, say)
        say(f"{plan.faults} faults by seed {plan.seed}")
        for turn in itertools.count():
            faults = plan.faults if turn == 0 else MORE_FAULTS
            nemesis.work(schedule(plan.seed + turn, faults, plan.pause_seconds, plan.weights))
            if messages(server) >= plan.messages:
                break
        return nemesis.errors, drain(server, company, folder, say)
    finally:
        company.disband()
        proxy.stop()


def prepare(server: ChaosServer) -> None:
    with server.connect() as connection:
        create_queues(connection)


def create_queues(connection: psycopg.Connection[Any]) -> None:
    connection.execute(TABLES)
    for queue in QUEUES:
        connection.execute("select signalbox.create_queue(%s, %s)", [queue.name, Jsonb(queue.settings)])


def wait_for_probes(folder: Path, count: int) -> None:
    """Return whether every client has had an answer recently."""
    deadline = time.monotonic() + STUCK_SECONDS
    while sum(path.read_text().count('"op":"probe"') for path in folder.glob("*-prober.jsonl")) < count:
        assert time.monotonic() < deadline, (folder / "programs.log").read_text()[-4000:]
        time.sleep(0.1)


def messages(server: ChaosServer) -> int:
    """Approximate number of messages sent."""
    with server.connect_patiently() as connection:
        row = connection.execute("select last_value from signalbox.message_id").fetchone()
    return int(row[0]) if row else 0


def drain(server: ChaosServer, company: Company, folder: Path, say: Callable[[str], None]) -> float:
    """No faults, no sends: whatever is left is received and acked. Returns how long that took."""
    began = time.monotonic()
    (folder / "draining").touch()
    company.dismiss(lambda place: place.kind == "beat" or (place.part is not None and place.part.sends))
    with server.connect_patiently() as connection:
        for (name,) in connection.execute("select gid from pg_prepared_xacts").fetchall():
            connection.execute(f"rollback prepared '{name}'")
        say(f"draining {sum(left(connection))} messages")
        before, moved_at = left(connection), time.monotonic()
        while any(now := left(connection)) and time.monotonic() - moved_at < STUCK_SECONDS:
            if now != before:
                before, moved_at = now, time.monotonic()
            time.sleep(0.2)
    company.dismiss(_works_at_queues)
    company.dismiss(lambda place: place.wanted)
    return time.monotonic() - began


def _works_at_queues(place: Place) -> bool:
    return place.wanted and place.kind != "upkeep"
