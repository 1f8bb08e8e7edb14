-- hint_lanes(queue_id): write a wake-up row for every message group in which a message waits. Called after limits have
-- changed, and at intervals as a safeguard. Walks from group to group, whatever their length. Returns how many. Index:
-- waiting_lane.
create or replace function signalbox.hint_lanes(queue_id integer default null) returns bigint
language sql
set lock_timeout = '200ms'
set search_path = pg_catalog, pg_temp
as $$
  select signalbox._hint_lanes(hint_lanes.queue_id, false)
$$;
