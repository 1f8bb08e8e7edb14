"""Message groups of a queue, as lanes of the engine: their messages, and the messages that hold their permits.

The engine knows a lane while it has messages or a limit of its own (`queues/sql/groups/_promote_lanes.sql`). A page of
lanes is read by stepping from one lane to the next, without reading their messages; counters have the numbers of each
lane (`queues/sql/groups/lane_counts.sql`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from queues.database.query import fetch, query_text

MAX_HOLDERS = 3


@dataclass(frozen=True)
class Holder:
    """A message that holds a permit of its group. `until`: the deadline of its lease, or the time when it is due."""

    message_id: int
    state: str
    """ready, leased, scheduled (backing off), or dead where a dead letter holds its group."""
    consumer: str | None
    until: datetime | None


@dataclass(frozen=True)
class Lane:
    """One message group. `under_way` counts messages that are ready, in flight or, in a FIFO queue, backing off."""

    group_id: str
    waiting: int
    waiting_since: datetime | None
    under_way: int
    own_limit: int | None
    own_max_waiting: int | None
    own_interval_seconds: float | None
    holders: Sequence[Holder]

    @property
    def others(self) -> int:
        """The number of messages under way that `holders` does not list."""
        return self.under_way - len(self.holders)


def read_lanes(queue_id: int, after: str | None = None, size: int = 50, only: str | None = None) -> list[Lane]:
    """Read up to `size` message groups in the order of their ids: those behind `after`, or only one. Two queries."""
    lanes = fetch(_LANES, {"queue_id": queue_id, "after": after, "size": size, "only": only})
    holders = _holders(queue_id, [row[0] for row in lanes])
    return [
        Lane(lane, waiting, since, under_way, limit, most_waiting, interval, holders[lane])
        for lane, waiting, since, under_way, limit, most_waiting, interval in lanes
        if waiting or under_way or limit or most_waiting or interval is not None
    ]


def holders_of(queue_id: int, lane: str) -> list[Holder]:
    """Read the first messages that hold permits of one group. A few index probes."""
    return _holders(queue_id, [lane])[lane]


def _holders(queue_id: int, lanes: list[str]) -> dict[str, list[Holder]]:
    holders: dict[str, list[Holder]] = {lane: [] for lane in lanes}
    for lane, *holder in fetch(_HOLDERS, {"queue_id": queue_id, "lanes": lanes, "most": MAX_HOLDERS}):
        holders[lane].append(Holder(*holder))
    return holders


_LANES = query_text("groups/page")

_HOLDERS = query_text("groups/holders")
