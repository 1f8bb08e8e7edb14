-- Queues of each failure group, at most a number for each, those within reach first; and sums over the group.
select s.head, s.name, s.tenant, s.dead, s.deaths, s.sources, s.others, s.all_dead, s.all_deaths, s.reached
from (
  select r.head, coalesce(q.name, '') as name, coalesce(t.name, '') as tenant, r.dead, r.deaths, r.reached,
    count(*) filter (where r.reached) over of_head as sources, count(*) filter (where not r.reached) over of_head as others,
    sum(r.dead) filter (where %s::integer[] is null or r.queue_id = any(%s::integer[])) over of_head as all_dead,
    sum(r.deaths) filter (where %s::integer[] is null or r.queue_id = any(%s::integer[])) over of_head as all_deaths,
    row_number() over (partition by r.head order by r.reached desc, r.dead desc, r.deaths desc, q.name) as place
  from (
    select c.head, c.queue_id, sum(c.dead) as dead, sum(c.deaths) as deaths,
      %s::integer[] is null or c.queue_id = any(%s::integer[]) as reached
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
