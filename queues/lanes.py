"""The lanes of a queue as they stand: what waits in each, what is under way, and what it waits for.

A lane is a group with a limit of its own (see `queues/sql/_promote_lanes.sql`). One is known only while it has messages
or a limit of its own; a page of them is read by walking from lane to lane, however long they are,
and counters say what each has (`queues/sql/lane_counts.sql`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

MOST_HOLDERS = 3


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
        """How many are under way beside the holders that are named."""
        return self.under_way - len(self.holders)


def read_lanes(queue_id: int, after: str | None = None, size: int = 50, only: str | None = None) -> list[Lane]:
    """Up to `size` lanes by group id, those behind `after`; `only` is the one of this group. Two queries."""
    arguments = {"queue_id": queue_id, "after": after, "size": size, "only": only}
    with connection.cursor() as cursor:
        cursor.execute(_LANES, arguments)
        lanes = cursor.fetchall()
        cursor.execute(_HOLDERS, {"queue_id": queue_id, "lanes": [row[0] for row in lanes], "most": MOST_HOLDERS})
        holders: dict[str, list[Holder]] = {}
        for lane, *holder in cursor.fetchall():
            holders.setdefault(lane, []).append(Holder(*holder))
    return [
        Lane(lane, waiting, since, under_way, own_limit, holders.get(lane, []))
        for lane, waiting, since, under_way, own_limit in lanes
        if waiting or under_way or own_limit
    ]


def holders_of(queue_id: int, lane: str) -> list[Holder]:
    """The first messages that have slots of one lane. A few index probes."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLDERS, {"queue_id": queue_id, "lanes": [lane], "most": MOST_HOLDERS})
        return [Holder(*holder) for _, *holder in cursor.fetchall()]


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
