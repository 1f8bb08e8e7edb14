-- Write a wake-up row for every message group of a queue in which a message waits.
create or replace function signalbox._hint_lanes(p_queue_id integer, p_again boolean) returns bigint
language plpgsql
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hinted bigint;
begin
  with recursive lanes as (
    (
      select w.queue_id, w.lane
      from signalbox.waiting w
      where p_queue_id is null or w.queue_id = p_queue_id
      order by w.queue_id, w.lane
      limit 1
    )
    union all
    select n.queue_id, n.lane
    from lanes l, lateral (
      select w.queue_id, w.lane
      from signalbox.waiting w
      where (w.queue_id, w.lane) > (l.queue_id, l.lane)
        and (p_queue_id is null or w.queue_id = p_queue_id)
      order by w.queue_id, w.lane
      limit 1
    ) n
  )
  insert into signalbox.lane_hint (queue_id, lane)
  select l.queue_id, l.lane
  from lanes l
  where p_again or not exists (
    select
    from signalbox.lane_hint h
    where hashtextextended(h.lane, h.queue_id::bigint) = hashtextextended(l.lane, l.queue_id::bigint)
      and h.lane = l.lane and h.queue_id + 0 = l.queue_id
      and h.due_at >= signalbox.floor_time(
        (
          select d.floor
          from signalbox.claim_floor d
          where d.queue_id = l.queue_id and d.kind = {floor.lane_hint}
          limit 1
        )
      )
  );
  get diagnostics v_hinted = row_count;
  return v_hinted;
end $$;
