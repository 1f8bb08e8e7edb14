"""Clients of every kind that a failover must not harm; they have the addresses of every host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from signalbox.connections import primary_selection
from tests.chaos.company.company import Company
from tests.chaos.company.queues import QUEUES
from tests.chaos.company.roles import Part
from tests.chaos.judging import history
from tests.chaos.judging.evidence import Truth
from tests.chaos.judging.history import OK, Journal, Operation
from tests.chaos.judging.truth import read_truth
from tests.chaos.run import create_queues, drain
from tests.proof.failover.pair import Pair
from tests.proof.patroni.cluster import PatroniNodes

PARTS = (
    Part("sender", "plain"),
    Part("sender", "work"),
    Part("batch sender", "bulk", options={"batch": 20, "pause": 0.1}),
    Part("order sender", "orders"),
    Part("keyed sender", "keyed"),
    Part("group sender", "fifo"),
    Part("consumer", "plain"),
    Part("bulk consumer", "bulk", options={"batch": 100, "durable": 0.3}),
    Part("order consumer", "orders"),
    Part("consumer", "keyed"),
    Part("consumer", "fifo"),
)
#: Minimum number of each kind of operation before a fault, and again before the end.
ENOUGH = {"send": 40, "send in a transaction": 5, "receive of work": 5, "ack": 40}


@dataclass
class Load:
    servers: Pair | PatroniNodes
    folder: Path
    company: Company

    def wait_for_work(self, since: float = 0.0) -> None:
        """Wait until clients of every kind have had an answer since that moment."""
        try:
            self.servers.wait_until(lambda: self._is_enough(since), "every client is answered")
        except AssertionError as error:
            last = {one.client: one for one in self.operations()}
            raise AssertionError(f"{error}: {self._answered(since)} of {ENOUGH}; last of each: {last}") from error

    def programs(self) -> dict[str, int | None]:
        """Processes of worker and upkeep, which must not die either."""
        return {place.name: place.pid for place in self.company.places if place.part is None}

    def drain(self) -> Truth:
        """Stop the senders, let everything be received and acked, and return the final state."""
        self.servers.wait_until(self._is_noticed, "upkeep notices the promotion")
        drain(self.servers, self.company, self.folder, _say_nothing)  # type: ignore[arg-type]
        with self.servers.connect_patiently() as connection:
            return read_truth(connection, QUEUES)

    def operations(self) -> list[Operation]:
        return list(history.read(self.folder))

    def journal(self) -> Journal:
        """Actions on the servers during the load."""
        return Journal(self.folder / "nemesis.jsonl")

    def _is_noticed(self) -> bool:
        with self.servers.connect_patiently() as connection:
            epoch = primary_selection.read(connection)
            known = connection.execute("select cluster, epoch from signalbox.promotion").fetchall()
        return epoch.timeline != 1 and epoch in known

    def _is_enough(self, since: float) -> bool:
        found = self._answered(since)
        return all(found[kind] >= enough for kind, enough in ENOUGH.items())

    def _answered(self, since: float) -> dict[str, int]:
        found = dict.fromkeys(ENOUGH, 0)
        for one in self.operations():
            kind = "receive of work" if one.arguments.get("queue") == "work" and one.kind == "receive" else one.kind
            if kind in found and one.outcome == OK and one.invoked > since:
                found[kind] += 1
        return found


@contextmanager
def load(servers: Pair | PatroniNodes) -> Iterator[Load]:
    """Let the clients work while the block runs."""
    folder = servers.home / "history"
    folder.mkdir()
    with servers.connect_patiently() as connection:
        create_queues(connection)
    company = Company(servers, folder, 1, 0)  # type: ignore[arg-type]
    try:
        company.gather(PARTS, upkeeps=1, workers=1, celery=False)
        yield Load(servers, folder, company)
    finally:
        company.disband()


def _say_nothing(_: str) -> None:
    """Hosts without a server."""
