"""The lanes of a queue as they stand: what waits in each, what is under way, and what it waits for.

A lane is a group with a limit of its own (see `queues/sql/groups/_promote_lanes.sql`). One is known only while it has
messages or a limit of its own; a page of them is read by walking from lane to lane, however long they are,
and counters say what each has (`queues/sql/groups/lane_counts.sql`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from queues.database.query import fetch

MAX_HOLDERS = 3


@dataclass(frozen=True)
class Holder:
    """A message that has one of a lane's slots. `until` is its deadline, or when it is due again; null else null."""

    message_id: int
    state: str
    """ready, leased, scheduled (backing off), or dead where the dead hold their group."""
    consumer: str | None
    until: datetime | None


@dataclass(frozen=True)
class Lane:
    """One lane. `under_way` are ready, in flight or, where FIFO, backing off."""

    group_id: str
    waiting: int
    waiting_since: datetime | None
    under_way: int
    own_limit: int | None
    holders: Sequence[Holder]

    @property
    def others(self) -> int:
        """The number under way beside the holders that are named."""
        return self.under_way - len(self.holders)


def read_lanes(queue_id: int, after: str | None = None, size: int = 50, only: str | None = None) -> list[Lane]:
    """Read up to `size` message groups by id, those behind `after`, or the one named `only`. Two queries."""
    lanes = fetch(_LANES, {"queue_id": queue_id, "after": after, "size": size, "only": only})
    holders = _holders(queue_id, [row[0] for row in lanes])
    return [
        Lane(lane, waiting, since, under_way, own_limit, holders[lane])
        for lane, waiting, since, under_way, own_limit in lanes
        if waiting or under_way or own_limit
    ]


def holders_of(queue_id: int, lane: str) -> list[Holder]:
    """The first messages that have slots of one lane. A few index probes."""
    return _holders(queue_id, [lane])[lane]


def _holders(queue_id: int, lanes: list[str]) -> dict[str, list[Holder]]:
    found: dict[str, list[Holder]] = {lane: [] for lane in lanes}
    for lane, *holder in fetch(_HOLDERS, {"queue_id": queue_id, "lanes": lanes, "most": MAX_HOLDERS}):
        found[lane].append(Holder(*holder))
    return found


# Every step finds the next lane of any of three indexes: those with messages waiting, under way, or a limit.
_LANES = """
with recursive names as (
  select coalesce(%(only)s::text, signalbox.next_lane(%(queue_id)s, %(after)s)) as lane, 1 as n
  union all
  select signalbox.next_lane(%(queue_id)s, l.lane), l.n + 1
  from names l
  where l.lane is not null and l.n < %(size)s and %(only)s::text is null
)
select l.lane, c.waiting,
  (select w.waiting_since from signalbox.waiting w
    where w.queue_id = %(queue_id)s and w.lane = l.lane order by w.place limit 1),
  c.under_way,
  (select o.max_in_flight from signalbox.lane_limit o where o.queue_id = %(queue_id)s and o.lane = l.lane)
from names l
left join signalbox.lane_counts(%(queue_id)s, array(select n.lane from names n where n.lane is not null)) c using (lane)
where l.lane is not null
order by l.n
"""

_HOLDERS = """
select l.lane, s.message_id,
  case when e.message_id is not null then 'leased' when d.message_id is not null then 'scheduled'
    when x.message_id is not null then 'dead' else 'ready' end,
  e.consumer, coalesce(e.deadline, d.due_at)
from unnest(%(lanes)s::text[]) l(lane)
cross join lateral (
  select s.message_id from signalbox.lane_slot s
  where s.queue_id = %(queue_id)s and s.lane = l.lane
  limit %(most)s
) s
left join signalbox.lease e on e.message_id = s.message_id
left join signalbox.scheduled d on d.message_id = s.message_id
left join signalbox.dead_letter x on x.message_id = s.message_id
order by l.lane, s.message_id
"""
