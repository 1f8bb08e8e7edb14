"""Claim floors moved by hand: a keeper whose time passes only when a test says so."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import psycopg

from queues.codes import Floor
from queues.upkeep.claim_floors import GROUP_PATIENCE_SECONDS, FloorKeeper
from tests.engine import Engine
from tests.races.naive import changed, definition
from tests.races.sessions import until

READY, LEASES, DUE = 0, Floor.LEASE, Floor.SCHEDULED
"""The kinds of heads that every queue has: priority 0, deadlines of leases, due times."""
TERM_SECONDS = 600.0
"""Term longer than any test: the lead is never lost to a slow machine."""
MOVE_CLOCK = """
select setval('signalbox.clock', greatest(last_value, (extract(epoch from clock_timestamp()) * 1000000)::bigint))
from signalbox.clock
"""
"""Forget floors as a step of the keeper does: after ten seconds without a step, no floor is trusted."""
BELIEVED = "select last_value > extract(epoch from clock_timestamp()) * 1000000 - 10000000 from signalbox.clock"


class Floors:
    """The floors of one queue and the keeper that moves them."""

    def __init__(self, connection: psycopg.Connection[Any], engine: Engine) -> None:
        self.keeper = FloorKeeper(connection, ttl_seconds=TERM_SECONDS)
        self.engine = engine
        self.now = 1000.0

    def tick(self, times: int = 3, *, seconds: float = 0.1) -> bool:
        """Let time pass and do a step, repeatedly; three steps move the floor past the time of the first."""
        for _ in range(times):
            self.now += seconds
            self.keeper.tick(self.now, [self.engine.queue_id])
        return self.keeper.leading

    def lose_patience(self) -> None:
        """A step after so long that writers which are still open are passed, and one that moves floors past them."""
        passed_before = set(self.keeper.passed)
        self.tick(1, seconds=GROUP_PATIENCE_SECONDS + 1)
        assert self.keeper.passed.keys() - passed_before, "there was no writer to pass"
        self.tick(2)

    def at(self, kind: int = READY) -> datetime:
        """Position at which claims of this head begin."""
        return floor_at(self.engine, kind)  # type: ignore[no-any-return]


class UnawareFloors(Floors):
    """A keeper that overlooks writers: its own session alone sees a changed `ticket_writers`, and nothing is committed.

    What it sets is felt by all, since sequences know no rollback.
    """

    def __init__(self, connection: psycopg.Connection[Any], engine: Engine, changes: dict[str, str]) -> None:
        honest = Floors(connection, engine)
        honest.tick(1)  # makes the sequences of the floors
        honest.keeper.resign()
        connection.execute("begin")
        connection.execute(changed(definition(connection, "ticket_writers"), changes).encode())
        super().__init__(connection, engine)


def found_above(engine: Engine) -> list[int]:
    """The messages that a claim finds which begins at the floors, however long the machine thinks about it."""

    def found_while_believed() -> list[list[int]]:
        engine.value(MOVE_CLOCK)
        with engine.connection.transaction() as claim:
            found = [row[0] for row in engine.receive(10)]
            if not engine.value(BELIEVED):
                raise psycopg.Rollback(claim)
            return [found]
        return []

    (found,) = until(found_while_believed, "a claim while the floors were believed")
    return found


def floor_at(engine: Engine, kind: int = READY) -> Any:
    engine.value(MOVE_CLOCK)
    return engine.value(
        "select signalbox.floor_time(h.floor) from signalbox.claim_floor h where h.queue_id = %s and h.kind = %s",
        engine.queue_id,
        kind,
    )


def set_floor(engine: Engine, offset_seconds: float, kind: int = READY) -> None:
    """Move a floor by force to this number of seconds from now."""
    engine.value(
        "select setval(h.floor, (extract(epoch from clock_timestamp()) * 1000000)::bigint + %s)"
        " from signalbox.claim_floor h where h.queue_id = %s and h.kind = %s",
        int(offset_seconds * 1_000_000),
        engine.queue_id,
        kind,
    )
