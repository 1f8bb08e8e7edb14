"""Final state of the database: where every message is, its contents, and whether the counters agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import psycopg

from tests.chaos.company.celery_app import token_of
from tests.chaos.company.queues import ChaosQueue
from tests.chaos.judging.evidence import Truth

BODIES = """
select m.message_id, m.payload from signalbox.message m
union all select k.message_id, k.payload from signalbox.message_kept k
"""

PLACES = """
select p.message_id, p.place || ' in ' || q.name
from (
  select message_id, queue_id, 'ready' from signalbox.ready
  union all select message_id, queue_id, 'scheduled' from signalbox.scheduled
  union all select message_id, queue_id, 'waiting' from signalbox.waiting
  union all select message_id, queue_id, 'leased' from signalbox.lease
  union all select message_id, source_queue_id, 'dead' from signalbox.dead_letter
) p(message_id, queue_id, place)
join signalbox.queue q using (queue_id)
union all
select unnest(s.message_ids), case s.outcome when 'a' then 'acked' when 'p' then 'purged' else 'ended' end
from signalbox.settled s
"""

DELIVERED = """
select m.id, m.receive_count
from signalbox.queue q
join signalbox.settled s using (queue_id), unnest(s.message_ids, s.receive_counts) m(id, receive_count)
where q.name = any(%s)
"""

LEFT = """
select
  (select count(*) from signalbox.ready), (select count(*) from signalbox.scheduled),
  (select count(*) from signalbox.waiting), (select count(*) from signalbox.lease),
  (select count(*) from signalbox.dead_letter)
"""

# What happened, as counted, beside the rows that say so: each queue, each tenant.
HAPPENED = """
with counted as (
  select q.queue_id, q.tenant_id, q.name,
    signalbox.event_total(t.totals, 'published', 'published_scheduled', 'published_waiting') as published,
    signalbox.event_total(t.totals, 'acked') as acked
  from signalbox.queue q
  join signalbox.queue_totals() t using (queue_id)
), rows as (
  select q.queue_id,
    (select count(*) from (
      select m.message_id from signalbox.message m where m.queue_id = q.queue_id
      union select k.message_id from signalbox.message_kept k where k.queue_id = q.queue_id
    ) m) as published,
    (select coalesce(sum(cardinality(s.message_ids)), 0)
     from signalbox.settled s where s.queue_id = q.queue_id and s.outcome = 'a') as acked
  from signalbox.queue q
)
select coalesce(c.name, 'tenant ' || c.tenant_id), sum(c.published), sum(r.published), sum(c.acked), sum(r.acked)
from counted c
join rows r using (queue_id)
group by grouping sets ((c.tenant_id, c.name), (c.tenant_id))
having sum(c.published) <> sum(r.published) or sum(c.acked) <> sum(r.acked)
"""


def left(connection: psycopg.Connection[Any]) -> tuple[int, ...]:
    """Numbers of ready, scheduled, waiting, leased and dead messages, counted row by row."""
    row = connection.execute(LEFT).fetchone()
    assert row is not None
    return tuple(row)


def read_truth(connection: psycopg.Connection[Any], queues: Sequence[ChaosQueue]) -> Truth:
    places: dict[int, list[str]] = defaultdict(list)
    tokens: dict[int, Any] = {}
    for message_id, payload in connection.execute(BODIES):
        _ = places[message_id]
        if (token := token_of(payload)) is not None:
            tokens[message_id] = token
    for message_id, place in connection.execute(PLACES):
        places[message_id].append(place)
    effects = dict(connection.execute("select message_id, count(*) from public.effect group by 1").fetchall())
    by_celery = [queue.name for queue in queues if queue.by_celery]
    executions = connection.execute(
        "select work::bigint, count(distinct pid) from public.completion group by 1"
    ).fetchall()
    return Truth(
        dict(places),
        tokens,
        drift(connection) + overcharged(connection),
        {row[0] for row in connection.execute("select token from public.business")},
        effects,
        frozenset(queue.name for queue in queues if queue.effective),
        dict(executions),
        dict(connection.execute(DELIVERED, [by_celery]).fetchall()),
        frozenset(queue.name for queue in queues if queue.opaque),
    )


def drift(connection: psycopg.Connection[Any]) -> list[str]:
    """Counters that differ from a recount: depths of every queue and lane, and what happened in queues and tenants."""
    found = []
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read")
        for queue_id, name in connection.execute("select queue_id, name from signalbox.queue").fetchall():
            rows = connection.execute("select * from signalbox.counter_drift(%s)", [queue_id]).fetchall()
            found += [
                f"{name}, lane {lane}, {state}: counted {counted}, there are {there}"
                for lane, state, counted, there in rows
                if counted != there
            ]
        found += [
            f"{name}: published {row[0]}, in the log {row[1]}; acked {row[2]}, in history {row[3]}"
            for name, *row in connection.execute(HAPPENED).fetchall()
        ]
    return found


def overcharged(connection: psycopg.Connection[Any]) -> list[str]:
    """Quotas that count what is no longer there, after all that was open has ended and was looked at."""
    counters = [row[0] for row in connection.execute("select counter_id from signalbox.admission_counter").fetchall()]
    for _ in range(3):  # one sets a mark, the next knows what was lost before it
        for counter_id in counters:
            connection.execute("select signalbox._evaluate(%s)", [counter_id])
    rows = connection.execute(
        "select counter_id, signalbox._read_counter(admitted) - signalbox._read_counter(base)"
        " from signalbox.admission_counter"
        " where signalbox._read_counter(admitted) <> signalbox._read_counter(base)"
    ).fetchall()
    return [
        f"admission counter {counter_id} counts {held} messages as held, and there are none"
        for counter_id, held in rows
    ]
