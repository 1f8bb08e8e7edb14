-- forget_lanes(): delete what the engine has noted about message groups that have been empty for a minute, so that they
-- leave no row. A missing note is always safe. Returns how many.
create or replace function signalbox.forget_lanes(max_lanes integer default 1000) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_forgotten bigint;
begin
  delete from signalbox.lane_floor f
  where f.ctid = any(array(
    select q.ctid
    from signalbox.lane_floor q
    where q.noted_at < clock_timestamp() - interval '1 minute'
      and not exists (
        select from signalbox.waiting w where w.queue_id = q.queue_id and w.lane = q.lane and w.place >= q.place
      )
      and not exists (
        select from signalbox.lane_slot s where s.queue_id = q.queue_id and s.lane = q.lane and s.slot > q.slot
      )
      and not exists (select from signalbox.lane_slot s where s.message_id = any(q.holders))
    limit forget_lanes.max_lanes
  ));
  get diagnostics v_forgotten = row_count;
  return v_forgotten;
end $$;
