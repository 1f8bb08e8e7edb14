-- limit_lane(queue, group_id, max_in_flight): give one message group of a queue with limited groups a limit of its own;
-- null restores the queue's limit. Groups without such a limit have no row. Locks only that row.
create or replace function signalbox.limit_lane(queue text, group_id text, max_in_flight integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue_id integer;
  v_mode text;
  v_limit bigint;
begin
  select q.queue_id, q.mode, q.group_max_in_flight into v_queue_id, v_mode, v_limit
  from signalbox.queue q
  where q.name = limit_lane.queue;
  if not found then
    perform signalbox._refuse_unknown_queue(limit_lane.queue);
  end if;
  if limit_lane.group_id is null or octet_length(limit_lane.group_id) not between 1 and 1024 then
    perform signalbox._refuse('group_id', 'must have from 1 to 1024 bytes');
  end if;
  if limit_lane.max_in_flight not between 1 and 1000 then
    perform signalbox._refuse('max_in_flight', format('is %s: it must be from 1 to 1000', limit_lane.max_in_flight));
  end if;
  if limit_lane.max_in_flight is not null and (v_mode = 'fifo' or v_limit = 0) then
    perform signalbox._refuse('max_in_flight', 'needs a queue that limits its groups: set group_max_in_flight first');
  end if;
  if limit_lane.max_in_flight is null then
    delete from signalbox.lane_limit l
    where l.queue_id = v_queue_id and l.lane = limit_lane.group_id
      and num_nonnulls(l.max_waiting, l.release_interval_seconds) = 0;
    update signalbox.lane_limit l set max_in_flight = null
    where l.queue_id = v_queue_id and l.lane = limit_lane.group_id;
  else
    insert into signalbox.lane_limit (queue_id, lane, max_in_flight)
    values (v_queue_id, limit_lane.group_id, limit_lane.max_in_flight)
    on conflict (queue_id, lane) do update set max_in_flight = excluded.max_in_flight;
  end if;
  perform signalbox._audit_verb(
    'lane.limit', v_queue_id, limit_lane.queue,
    jsonb_build_object('group_id', limit_lane.group_id, 'max_in_flight', limit_lane.max_in_flight)
  );
  insert into signalbox.lane_hint (queue_id, lane)
  select v_queue_id, limit_lane.group_id
  -- otherwise no receiver would look at the group
  where exists (select from signalbox.claim_floor h where h.queue_id = v_queue_id and h.kind = {floor.lane_hint});
end $$;
