-- set_group_policy(queue, group_name, max_in_flight, max_waiting, release_interval): give one message group limits of
-- its own: how many of its messages are ready or in flight, how many may wait, and the seconds between two that become
-- ready. Each is optional: without it the queue's own value applies. It replaces the policy that the group had. The
-- queue must limit its groups (group_max_in_flight) or be FIFO; a FIFO queue has max_waiting alone. Locks one row.
create or replace function signalbox.set_group_policy(
  queue text,
  group_name text,
  max_in_flight integer default null,
  max_waiting bigint default null,
  release_interval double precision default null
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue record := signalbox._queue_of_group(set_group_policy.queue, set_group_policy.group_name);
begin
  perform signalbox._refuse(o.field, o.problem)
  from (values
    (num_nonnulls(set_group_policy.max_in_flight, set_group_policy.max_waiting, set_group_policy.release_interval) = 0,
      'max_in_flight', 'is null, as all other limits are: call clear_group_policy'),
    (set_group_policy.max_in_flight not between 1 and 1000, 'max_in_flight', 'must be from 1 to 1000'),
    (set_group_policy.max_waiting not between 1 and 1000000000, 'max_waiting', 'must be from 1 to 1000000000'),
    ((set_group_policy.release_interval between 0 and 86400) is false, 'release_interval',
      'must be from 0 to 86400 seconds'),
    (v_queue.mode <> 'fifo' and v_queue.group_max_in_flight = 0, 'max_in_flight',
      'needs a queue that limits its groups: set group_max_in_flight first'),
    (v_queue.mode = 'fifo' and set_group_policy.max_in_flight is not null, 'max_in_flight',
      'must be null: a FIFO queue delivers one message of a group at a time'),
    (v_queue.mode = 'fifo' and set_group_policy.release_interval is not null, 'release_interval',
      'must be null: the groups of a FIFO queue have the interval of the queue')
  ) o(found, field, problem)
  where o.found;
  insert into signalbox.lane_limit (queue_id, lane, max_in_flight, max_waiting, release_interval_seconds)
  values (
    v_queue.queue_id, set_group_policy.group_name, set_group_policy.max_in_flight, set_group_policy.max_waiting,
    set_group_policy.release_interval
  )
  on conflict (queue_id, lane) do update
  set max_in_flight = excluded.max_in_flight,
    max_waiting = excluded.max_waiting,
    release_interval_seconds = excluded.release_interval_seconds;
  perform signalbox._apply_group_policy(v_queue.queue_id, set_group_policy.queue, set_group_policy.group_name,
    'lane.limit', jsonb_strip_nulls(jsonb_build_object(
      'max_in_flight', set_group_policy.max_in_flight, 'max_waiting', set_group_policy.max_waiting,
      'release_interval', set_group_policy.release_interval
    )));
end $$;
