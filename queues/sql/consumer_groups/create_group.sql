-- create_group(stream, name, point, at, queue, queue_window): make a consumer group that reads a stream from a point:
-- 'beginning', 'end', or 'time' (with at). Returns its id, or the id of the existing group with the same queue. With a
-- queue the group is a subscription: its messages are sent to that queue, at most queue_window messages ahead of the
-- queue's consumers (feed_queues).
create or replace function signalbox.create_group(
  stream text,
  name text,
  point text default 'end',
  at timestamptz default null,
  queue text default null,
  queue_window integer default 1000
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(create_group.stream);
  v_queue_id integer;
  v_group signalbox.consumer_group;
begin
  perform signalbox._check_stream_name('name', create_group.name);
  perform signalbox._check_point(create_group.point, create_group.at, array['beginning', 'end', 'time']);
  if create_group.queue is not null then
    select q.queue_id into v_queue_id
    from signalbox.queue q
    where q.name = create_group.queue and q.tenant_id = v_stream.tenant_id and not q.is_dead_letter_queue
    for key share; -- so that it is not deleted before the commit
    if not found then
      perform signalbox._refuse_unknown_queue(create_group.queue); -- a queue of another tenant is unknown too
    end if;
    perform signalbox._refuse_placed('queue', q) from signalbox.queue q where q.queue_id = v_queue_id;
    if create_group.queue_window is null or create_group.queue_window not between 1 and 100000 then
      perform signalbox._refuse('queue_window', 'must be from 1 to 100000 messages');
    end if;
  end if;
  -- Partitions that are being added wait for this group, or this group for the partitions.
  perform pg_advisory_xact_lock_shared(hashtext('signalbox.stream_partitions'), v_stream.stream_id);
  v_stream := signalbox._stream_of(create_group.stream);
  insert into signalbox.consumer_group (stream_id, name, queue_id, queue_window)
  values (
    v_stream.stream_id, create_group.name, v_queue_id,
    case when v_queue_id is not null then create_group.queue_window end
  )
  on conflict (stream_id, name) do nothing
  returning * into v_group;
  if found then
    insert into signalbox.group_partition (group_id, partition)
    select v_group.group_id, p from generate_series(0, v_stream.partitions - 1) p;
    insert into signalbox.group_offset (group_id, partition, position)
    select v_group.group_id, p, signalbox._position_at(v_stream.stream_id, p, create_group.point, create_group.at)
    from generate_series(0, v_stream.partitions - 1) p;
    perform signalbox._audit_stream('group.create', create_group.stream, jsonb_build_object(
      'group', create_group.name, 'point', create_group.point, 'at', create_group.at, 'queue', create_group.queue
    ));
    return v_group.group_id;
  end if;
  v_group := signalbox._group_of(v_stream.stream_id, create_group.name);
  if v_group.queue_id is distinct from v_queue_id then
    perform signalbox._refuse(
      'queue', format('is not the one that the group %s feeds', quote_literal(create_group.name))
    );
  end if;
  return v_group.group_id;
end $$;
