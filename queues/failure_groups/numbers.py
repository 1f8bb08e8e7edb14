"""The numbers of some failure groups: those that are counted, and in the same statement those still to be added."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from queues.database.query import fetch


def facts(heads: list[str]) -> list[tuple[Any, ...]]:
    """Return (group, members, reason, class, error, its template, frame, times, regression, deaths)."""
    return fetch(_PARTS + _FACTS, [heads, heads])


def sources(
    heads: list[str], queue_ids: list[int] | None, reached: list[int] | None, limit: int
) -> list[tuple[Any, ...]]:
    """Return the queues of each group, at most `limit` of each, those within reach first, with sums over the group."""
    return fetch(_PARTS + _SOURCES, [heads, heads, queue_ids, queue_ids, queue_ids, queue_ids, reached, reached, limit])


def deaths_by_step(
    heads: list[str], queue_ids: list[int] | None, since: datetime, step: timedelta
) -> dict[tuple[str, datetime], int]:
    """Count how many died of each group in every step that has any."""
    params = [heads, heads, since, queue_ids, queue_ids, since, queue_ids, queue_ids, step]
    return {(row[0], row[1]): int(row[2]) for row in fetch(_PARTS + _COURSES, params)}


# Every fingerprint of the failure groups asked for, with its failure group.
_PARTS = """
with part as materialized (
  select f.head, f.head as fingerprint from unnest(%s::text[]) f(head)
  union
  select m.head, m.fingerprint from signalbox.failure_group_member m where m.head = any(%s::text[])
), pending as materialized (
  select p.head, u.* from signalbox.pending_failure_groups() u join part p on p.fingerprint = u.fingerprint
)
"""

_FACTS = """
select r.head, array_remove(array_agg(distinct r.fingerprint), r.head),
  coalesce(max(r.reason) filter (where r.fingerprint = r.head), max(r.reason)),
  coalesce(max(r.error_class) filter (where r.fingerprint = r.head), max(r.error_class)),
  coalesce(max(r.error) filter (where r.fingerprint = r.head), max(r.error)),
  signalbox._normal_error(coalesce(max(r.error) filter (where r.fingerprint = r.head), max(r.error))),
  coalesce(max(r.frame) filter (where r.fingerprint = r.head), max(r.frame)),
  min(r.first_seen), max(r.last_seen), max(r.again_at),
  (max(array[extract(epoch from r.again_at), r.again_redrive_id]) filter (where r.again_at is not null))[2]::bigint,
  coalesce(sum(r.deaths), 0)::bigint
from (
  select p.head, p.fingerprint, c.reason, c.error_class, c.error, c.frame, c.first_seen, c.last_seen, c.again_at,
    c.again_redrive_id, c.deaths
  from part p
  left join signalbox.failure_cluster c on c.fingerprint = p.fingerprint
  union all
  select u.head, u.fingerprint, u.reason, u.error_class, u.error, u.frame, u.first_at, u.last_at, u.again_at,
    u.again_redrive_id, u.deaths
  from pending u
) r
group by r.head
having max(r.last_seen) is not null
"""

_SOURCES = """
select s.head, s.name, s.tenant, s.dead, s.deaths, s.sources, s.others, s.all_dead, s.all_deaths, s.told
from (
  select r.head, coalesce(q.name, '') as name, coalesce(t.name, '') as tenant, r.dead, r.deaths, r.told,
    count(*) filter (where r.told) over of_head as sources, count(*) filter (where not r.told) over of_head as others,
    sum(r.dead) filter (where %s::integer[] is null or r.queue_id = any(%s::integer[])) over of_head as all_dead,
    sum(r.deaths) filter (where %s::integer[] is null or r.queue_id = any(%s::integer[])) over of_head as all_deaths,
    row_number() over (partition by r.head order by r.told desc, r.dead desc, r.deaths desc, q.name) as place
  from (
    select c.head, c.queue_id, sum(c.dead) as dead, sum(c.deaths) as deaths,
      %s::integer[] is null or c.queue_id = any(%s::integer[]) as told
    from (
      select p.head, c.queue_id, c.dead, c.deaths
      from part p
      cross join lateral (
        select c.queue_id, c.dead, c.deaths
        from signalbox.failure_cluster_queue c
        where c.fingerprint = p.fingerprint
        offset 0
      ) c
      union all
      select u.head, u.queue_id, u.dead, u.deaths from pending u
    ) c
    group by c.head, c.queue_id
  ) r
  left join signalbox.queue q on q.queue_id = r.queue_id
  left join signalbox.tenant t on t.tenant_id = q.tenant_id
  window of_head as (partition by r.head)
) s
where s.place <= %s
order by s.head, s.place
"""

_COURSES = """
, died as (
  select p.head, b.bucket_at, b.deaths
  from part p
  cross join lateral (  -- each failure group by its own index entries, however many buckets there are
    select b.bucket_at, b.queue_id, b.deaths
    from signalbox.failure_cluster_bucket b
    where b.fingerprint = p.fingerprint and b.bucket_at >= %s
    offset 0
  ) b
  where %s::integer[] is null or b.queue_id = any(%s::integer[])
  union all
  select u.head, u.bucket_at, u.deaths
  from pending u
  where u.bucket_at >= %s and (%s::integer[] is null or u.queue_id = any(%s::integer[]))
)
select d.head, date_bin(%s, d.bucket_at, timestamptz '2000-01-01 00:00:00+00') as moment, sum(d.deaths)
from died d
group by d.head, moment
"""
