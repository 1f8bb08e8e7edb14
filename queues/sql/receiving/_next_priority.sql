-- The priority from which to claim next, and up to when its messages come before those of the next priority. Aging is
-- applied here, where priorities are compared (priority + age / aging): within one priority it never changes the order,
-- so no ticket is ever rewritten. Without aging priorities are strict. `aged`: a higher priority has messages too, so
-- aging is the reason that this one goes first. One probe of ready_claim for each priority.
create or replace function signalbox._next_priority(
  p_queue_id integer, p_bands smallint[], p_floors timestamptz[], p_aging interval
) returns table (priority smallint, floor timestamptz, until timestamptz, aged boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  with heads as (
    select b.priority, b.floor, h.ready_at, h.ready_at - b.priority * p_aging as rank
    from (
      select u.priority, min(u.floor) as floor from unnest(p_bands, p_floors) u(priority, floor) group by u.priority
    ) b, lateral (
      select r.ready_at
      from signalbox.ready r
      where r.queue_id = p_queue_id and r.priority = b.priority and r.ready_at >= b.floor
      order by r.ready_at, r.message_id
      limit 1
    ) h
  ), ordered as (
    select h.*, max(h.priority) over () as highest,
      lead(h.rank) over (order by case when p_aging > interval '0' then h.rank end, h.priority desc) as next_rank
    from heads h
    order by case when p_aging > interval '0' then h.rank end, h.priority desc
    limit 1
  )
  select o.priority, o.floor,
    case when p_aging > interval '0' then coalesce(o.next_rank + o.priority * p_aging, 'infinity') else 'infinity' end,
    o.priority < o.highest
  from ordered o;
end $$;
