"""What is known of some clusters: three queries for their numbers and one for what people wrote, however many they are.

Numbers are exact: what upkeep has folded, and the deltas that it has not, in the same statement.
"""
# ruff: noqa: S608 - statements are put together from literals of this file; what people typed is bound

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from dlq.cluster_models import ClusterCare
from dlq.clusters.states import State, state_of
from dlq.finding import Query
from queues.reach import EVERYTHING, Reach

SPARK_POINTS = 60
BUCKET = timedelta(minutes=10)
DAY_BUCKETS = timedelta(days=1) // BUCKET
HOUR_BUCKETS = timedelta(hours=1) // BUCKET
KEPT = timedelta(days=14)
MOST_SOURCES = 20  # named; all are counted


@dataclass(frozen=True)
class Source:
    """A queue in which messages died of a cluster: how many are dead, how many ever died. No name: it is gone."""

    queue: str
    tenant: str
    dead: int
    deaths: int


@dataclass(frozen=True)
class Cluster:
    """Dead letters of one cause. If read for some queues only, `dead`, `deaths` and `course` are theirs."""

    fingerprint: str
    members: Sequence[str]
    """Fingerprints merged into it, itself left out."""
    reason: str | None
    error_class: str | None
    error: str | None
    """Of one of its messages: may quote the payload."""
    frame: str | None
    first_seen: datetime
    last_seen: datetime
    dead: int
    deaths: int
    again_at: datetime | None
    again_redrive_id: int | None
    """The redrive after which a message died of this again."""
    sources: Sequence[Source]
    """Those with the most dead first."""
    source_count: int
    course: Sequence[tuple[datetime, int]]
    """Deaths of the last day, ten minutes each, the oldest first."""
    care: ClusterCare | None
    is_shared: bool = False
    """Messages of this cause died in queues, too, of which the reader is to be told nothing."""

    @property
    def state(self) -> State:
        return state_of(self.care, self.last_seen, self.again_at)

    @property
    def regressed_after(self) -> int | None:
        """The redrive that this regression followed."""
        return self.again_redrive_id if self.state is State.REGRESSED else None

    @property
    def died_last_hour(self) -> int:
        return sum(deaths for _, deaths in self.course[-HOUR_BUCKETS:])

    @property
    def died_last_day(self) -> int:
        return sum(deaths for _, deaths in self.course)

    @property
    def spark(self) -> list[float]:
        return [float(deaths) for _, deaths in self.course[-SPARK_POINTS:]]

    @property
    def tenants(self) -> list[str]:
        return sorted({source.tenant for source in self.sources})

    @property
    def words(self) -> str:
        """The class, or what stands for it where there is none."""
        unnamed = {"lock_expired": "Timed out", "rejected": "Rejected"}
        return self.error_class or unnamed.get(self.reason or "", "Failed without a class")


def read_cluster(fingerprint: str, reach: Reach = EVERYTHING) -> Cluster | None:
    """The cluster of this fingerprint, if anything is known of it: of what is reached, and nothing of others'."""
    reached = reached_ids(reach)
    found = next(iter(read_clusters([fingerprint], reached, reached)), None)
    return found if found is None or reached is None or found.sources else None


def reached_ids(reach: Reach) -> tuple[int, ...] | None:
    """The queues within reach by their ids; None for all. One query."""
    if reach.is_everything:
        return None
    condition, params = reach.condition()
    return tuple(
        row[0]
        for row in Query(
            f"select q.queue_id from signalbox.queue q join signalbox.tenant o using (tenant_id) where {condition}",
            params,
        ).rows()
    )


def read_clusters(
    fingerprints: Sequence[str], queue_ids: Sequence[int] | None = None, reached: Sequence[int] | None = None
) -> list[Cluster]:
    """These clusters in this order; those that nothing is known of are left out. Four queries.

    Sources are named among those that are `reached`; what else may tell of others is left out.
    """
    heads = list(fingerprints)
    facts = {row[0]: row[1:] for row in Query(_FACTS, [heads, heads]).rows()}
    sources = _sources(heads, queue_ids, reached)
    courses = read_courses(heads, queue_ids, BUCKET, timedelta(days=1))
    cares = ClusterCare.objects.in_bulk(heads)
    found = [_cluster(one, facts[one], sources, courses[one], cares.get(one)) for one in heads if one in facts]
    return [_without_others(one) if one.is_shared else one for one in found]


def _without_others(cluster: Cluster) -> Cluster:
    """Less what may have come from a queue that is not reached: an example, a redrive, what people wrote."""
    care = copy(cluster.care)
    if care is not None:
        care.note = care.runbook_url = ""
    return replace(cluster, error=None, again_redrive_id=None, care=care)


def read_courses(
    fingerprints: Sequence[str], queue_ids: Sequence[int] | None, step: timedelta, reach: timedelta
) -> dict[str, list[tuple[datetime, int]]]:
    """How many died of each in every step up to now, the oldest first. One query."""
    moments = _moments(step, reach)
    scope = list(queue_ids) if queue_ids is not None else None
    parameters = [list(fingerprints), list(fingerprints), moments[0], scope, scope, moments[0], scope, scope, step]
    counted = {(row[0], row[1]): int(row[2]) for row in Query(_COURSES, parameters).rows()}
    return {one: [(moment, counted.get((one, moment), 0)) for moment in moments] for one in fingerprints}


def _moments(step: timedelta, reach: timedelta) -> list[datetime]:
    """The beginnings of all steps that reach back so far; buckets begin at multiples since the millennium."""
    epoch = datetime(2000, 1, 1, tzinfo=UTC)
    last = epoch + (datetime.now(UTC) - epoch) // step * step
    return [last - step * back for back in reversed(range(reach // step))]


@dataclass(frozen=True)
class _Sources:
    """The sources of one cluster that are named, how many there are, and the numbers of those that are asked for."""

    named: Sequence[Source] = ()
    count: int = 0
    dead: int = 0
    deaths: int = 0
    others: int = 0


def _sources(heads: list[str], queue_ids: Sequence[int] | None, reached: Sequence[int] | None) -> dict[str, _Sources]:
    """For each cluster its sources among those that are reached."""
    scope = list(queue_ids) if queue_ids is not None else None
    told = list(reached) if reached is not None else None
    found: dict[str, _Sources] = {}
    for head, queue, tenant, dead, deaths, count, others, all_dead, all_deaths, is_told in Query(
        _SOURCES, [heads, heads, scope, scope, scope, scope, told, told, MOST_SOURCES]
    ).rows():
        known = found.get(head, _Sources())
        named = [*known.named, Source(queue, tenant, int(dead), int(deaths))] if is_told else known.named
        found[head] = _Sources(named, count, int(all_dead or 0), int(all_deaths or 0), others)
    return found


def _cluster(
    fingerprint: str,
    facts: tuple[object, ...],
    sources: dict[str, _Sources],
    course: list[tuple[datetime, int]],
    care: ClusterCare | None,
) -> Cluster:
    members, reason, error_class, error, frame, first_seen, last_seen, again_at, again_redrive_id = facts
    of = sources.get(fingerprint, _Sources())
    return Cluster(
        fingerprint,
        members,  # type: ignore[arg-type]
        reason,  # type: ignore[arg-type]
        error_class,  # type: ignore[arg-type]
        error,  # type: ignore[arg-type]
        frame,  # type: ignore[arg-type]
        first_seen,  # type: ignore[arg-type]
        last_seen,  # type: ignore[arg-type]
        of.dead,
        of.deaths,
        again_at,  # type: ignore[arg-type]
        again_redrive_id,  # type: ignore[arg-type]
        of.named,
        of.count,
        course,
        care,
        of.others > 0,
    )


# Every fingerprint of the clusters asked for, with its cluster.
_PARTS = """
with part as materialized (
  select f.head, f.head as fingerprint from unnest(%s::text[]) f(head)
  union
  select m.head, m.fingerprint from signalbox.cluster_member m where m.head = any(%s::text[])
), pending as materialized (
  select p.head, u.* from signalbox.unfolded_clusters() u join part p on p.fingerprint = u.fingerprint
)
"""

_FACTS = (
    _PARTS
    + """
select r.head, array_remove(array_agg(distinct r.fingerprint), r.head),
  coalesce(max(r.reason) filter (where r.fingerprint = r.head), max(r.reason)),
  coalesce(max(r.error_class) filter (where r.fingerprint = r.head), max(r.error_class)),
  coalesce(max(r.error) filter (where r.fingerprint = r.head), max(r.error)),
  coalesce(max(r.frame) filter (where r.fingerprint = r.head), max(r.frame)),
  min(r.first_seen), max(r.last_seen), max(r.again_at),
  (max(array[extract(epoch from r.again_at), r.again_redrive_id]) filter (where r.again_at is not null))[2]::bigint
from (
  select p.head, p.fingerprint, c.reason, c.error_class, c.error, c.frame, c.first_seen, c.last_seen, c.again_at,
    c.again_redrive_id
  from part p
  left join signalbox.failure_cluster c on c.fingerprint = p.fingerprint
  union all
  select u.head, u.fingerprint, u.reason, u.error_class, u.error, u.frame, u.first_at, u.last_at, u.again_at,
    u.again_redrive_id
  from pending u
) r
group by r.head
having max(r.last_seen) is not null
"""
)

_SOURCES = (
    _PARTS
    + """
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
)

_COURSES = (
    _PARTS
    + """
, died as (
  select p.head, b.bucket_at, b.deaths
  from part p
  cross join lateral (  -- each cluster by its own index entries, however many buckets there are
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
)
