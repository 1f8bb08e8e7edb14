"""An invented history of two weeks, so that the charts of a demo that begins now have something to show.

An audit row says up to when the history is made up; charts and pages show that moment.

Each queue gets the traffic that its rate says, with nights, some noise and, every third day, an afternoon on which its
consumers were slow. The numbers of tenants and of all queues are the sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from queues import audit
from queues.database.sql_names import rendered
from queues.models import AuditEvent

ACTION = "history.invent"

TABLES = (
    ("queue_history", 10, "1 hour"),
    ("queue_history_minute", 60, "1 day"),
    ("queue_history_ten_minutes", 600, "14 days"),
)


def invent(rates: Mapping[str, float]) -> bool:
    """Write the past of queues by their messages per second, unless history was recorded. Return whether it did."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select exists (select from signalbox.history_record)")
        if cursor.fetchone()[0]:
            return False
        cursor.execute(_PARTITIONS)
        for table, step, reach in TABLES:
            parameters: dict[str, Any] = {"step": step, "reach": reach}
            traffic: dict[str, Any] = {"names": list(rates), "rates": list(rates.values())}
            cursor.execute(_INVENTED.replace("{table}", table), parameters | traffic)
            cursor.execute(_TOGETHER.replace("{table}", table))
            cursor.execute(_RECORDS, parameters)
        audit.record("demo", ACTION, reason="History is made up, so that the charts of the demo have a past.")
    return True


def end_of_invention() -> datetime | None:
    """Return the moment up to which the history is made up; None where all of it was recorded."""
    made = AuditEvent.objects.filter(action=ACTION).order_by("-audit_event_id")
    return made.values_list("at", flat=True).first()


_PARTITIONS = """
select signalbox._ensure_period(s.table_name, at, at + s.part, 'YYYYMMDDHH24')
from signalbox._history_steps() s,
  generate_series(
    date_bin(s.part, clock_timestamp() - s.kept, timestamptz '2000-01-01 00:00+00'), clock_timestamp(), s.part
  ) at
"""

# A day has its rhythm; slow is how far into such an afternoon it is, from 0 to 1 and back.
_INVENTED = """
insert into signalbox.{table} (
  queue_id, bucket_at, seconds, ready, scheduled, leased, dead,
  ready_highest, scheduled_highest, waiting_highest, leased_highest, dead_highest, oldest_visible_at,
  oldest_ready_age_seconds,
  added, removed, published, delivered, redelivered, acked, nacked, lease_expired, dead_lettered, waits, work
)
select q.queue_id, t.at, %(step)s, n.ready, n.scheduled, n.leased, n.dead,
  n.ready * 1.2, n.scheduled * 1.1, 0, n.leased * 1.3, n.dead,
  t.at + %(step)s * interval '1 second' - n.age * interval '1 second', n.age,
  n.sent, n.done, n.sent, n.done + n.failed, n.failed, n.done, n.failed, n.failed / 5, n.failed / 20,
  array[0, n.done * 0.1, n.done * 0.4 * n.calm, n.done * 0.3 * n.calm, n.done * 0.15, n.done * 0.05, 0,
  n.done * 0.1 * n.slow,
    n.done * 0.2 * n.slow, n.done * 0.3 * n.slow, n.done * 0.1 * n.slow, 0, 0, 0, 0]::bigint[],
  array[0, n.done * 0.2, n.done * 0.5 * n.calm, n.done * 0.25, n.done * 0.05, n.done * 0.3 * n.slow,
    n.done * 0.2 * n.slow, 0, 0, 0, 0, 0, 0, 0, 0]::bigint[]
from unnest(%(names)s::text[], %(rates)s::float[]) d(name, rate)
join signalbox.queue q on q.name = d.name
cross join lateral (
  select at, date_part('hour', at at time zone 'UTC') + date_part('minute', at at time zone 'UTC') / 60.0 as hour,
    (date_part('doy', at)::integer + q.queue_id) %% 3 = 0 as is_bad
  from generate_series(
    date_bin(%(step)s * interval '1 second', clock_timestamp() - %(reach)s::interval,
    timestamptz '2000-01-01 00:00+00'),
    clock_timestamp() - %(step)s * interval '1 second', %(step)s * interval '1 second'
  ) at
) t
cross join lateral (
  select d.rate * (0.7 + 0.3 * sin(2 * pi() * (t.hour - 9) / 24)) * (0.9 + 0.2 * random()) as rate,
    case when t.is_bad then greatest(0, 1 - abs(t.hour - 15) / 1.5) else 0 end as slow
) r
cross join lateral (
  select r.rate * %(step)s as sent, r.rate * %(step)s * (1 - r.slow * 0.4 + random() * 0.02) as done,
    r.rate * (0.3 * random() + 900 * r.slow) as ready, r.rate * 0.4 as leased,
    r.rate * 0.4 * random() as scheduled,
    (r.rate * %(step)s * (0.01 + 0.15 * r.slow))::bigint as failed,
    case when t.is_bad and t.hour between 15 and 20 then round(d.rate * 12) else 0 end as dead,
    0.2 + 0.5 * random() + 700 * r.slow as age, r.slow, 1 - r.slow as calm
) n
"""

_TOGETHER = rendered("""
insert into signalbox.{table} (
  queue_id, bucket_at, seconds, ready, scheduled, waiting, leased, dead,
  ready_highest, scheduled_highest, waiting_highest, leased_highest, dead_highest, oldest_visible_at,
  oldest_ready_age_seconds,
  added, removed, published, delivered, redelivered, acked, nacked, lease_expired, dead_lettered, waits, work
)
select coalesce(-q.tenant_id, 0), h.bucket_at, max(h.seconds), sum(h.ready), sum(h.scheduled), sum(h.waiting),
  sum(h.leased), sum(h.dead), sum(h.ready_highest), sum(h.scheduled_highest), sum(h.waiting_highest),
  sum(h.leased_highest), sum(h.dead_highest),
  min(h.oldest_visible_at), max(h.oldest_ready_age_seconds),
  sum(h.added), sum(h.removed), sum(h.published), sum(h.delivered), sum(h.redelivered), sum(h.acked), sum(h.nacked),
  sum(h.lease_expired), sum(h.dead_lettered),
  {duration.sums:h.waits},
  {duration.sums:h.work}
from signalbox.{table} h
join signalbox.queue q on q.queue_id = h.queue_id
group by h.bucket_at, grouping sets ((q.tenant_id), ())
""")

_RECORDS = """
insert into signalbox.history_record (step_seconds, bucket_at, seconds, aggregation_id)
select %(step)s, at, %(step)s, (select max(aggregation_id) from signalbox.aggregation)
from generate_series(
  date_bin(%(step)s * interval '1 second', clock_timestamp() - %(reach)s::interval,
  timestamptz '2000-01-01 00:00+00'),
  clock_timestamp() - %(step)s * interval '1 second', %(step)s * interval '1 second'
) at
"""
