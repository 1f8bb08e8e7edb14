"""The work of each consumer: its messages in flight, and its completed messages per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from queues.database.query import fetch

WINDOW_SECONDS = 60.0
MAX_LEASES = 10_000
MAX_ACKS = 1_000
"""The most ack calls of one queue that are read. If there are more, the rate covers the time of the newest ones."""

Key = tuple[int, str]


@dataclass(frozen=True)
class Work:
    """The work of one consumer of one queue now."""

    in_flight: int = 0
    oldest_leased_at: datetime | None = None
    """When its oldest message in flight was delivered; None if it has none."""
    per_second: float = 0.0


def read_work(queue_ids: Sequence[int]) -> dict[Key, Work]:
    """Read the work of the consumers of these queues, by queue and consumer. Two queries, however many consumers."""
    rates = _read_rates(queue_ids)
    leases = fetch(_LEASES, {"ids": list(queue_ids), "leases": MAX_LEASES})
    held = {(queue_id, consumer): (count, oldest) for queue_id, consumer, count, oldest in leases}
    return {key: Work(*held.get(key, (0, None)), rates.get(key, 0.0)) for key in held.keys() | rates.keys()}


_LEASES = """
select queue_id, consumer, count(*), min(leased_at)
from (
  select queue_id, consumer, leased_at
  from signalbox.lease
  where queue_id = any(%(ids)s::integer[]) and consumer is not null
  limit %(leases)s
) l
group by queue_id, consumer
"""


def _read_rates(queue_ids: Sequence[int]) -> dict[Key, float]:
    values = {"ids": list(queue_ids), "acks": MAX_ACKS, "window": WINDOW_SECONDS}
    return {(queue_id, consumer): count / seconds for queue_id, consumer, count, seconds in fetch(_RATES, values)}


# The newest ack calls of each queue within the window: all of them, or as many as are read.
_RATES = """
select queue_id, consumer, sum(messages)::float,
  case when max(calls) < %(acks)s then %(window)s else max(seconds) end
from (
  select q.queue_id, a.consumer, a.messages, count(*) over of_queue as calls,
    greatest(extract(epoch from clock_timestamp() - min(a.settled_at) over of_queue), 1.0)::float as seconds
  from unnest(%(ids)s::integer[]) q(queue_id)
  cross join lateral (
    select s.consumer, s.settled_at, cardinality(s.message_ids) as messages
    from signalbox.settled s
    where s.queue_id = q.queue_id
      and s.settled_at > clock_timestamp() - make_interval(secs => %(window)s)
      and s.consumer is not null
    order by s.settled_at desc
    limit %(acks)s
  ) a
  window of_queue as (partition by q.queue_id)
) acks
group by queue_id, consumer
"""
