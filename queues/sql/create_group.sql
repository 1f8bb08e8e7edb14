-- create_group(stream, name, point, at, queue, queue_window): make a group that reads a stream from a point on: 'beginning',
-- 'end' or 'time' (with at); returns its id, or that of the group that exists with the same queue. With a queue it is a
-- subscription: what it reads is sent there, at most queue_window messages ahead of the queue's consumers (feed_queues).
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
    for key share; -- it is not deleted meanwhile
    if not found then
      perform signalbox._refuse_unknown_queue(create_group.queue); -- another tenant's is not found
    end if;
    if create_group.queue_window is null or create_group.queue_window not between 1 and 100000 then
      perform signalbox._refuse('queue_window', 'must be from 1 to 100000 messages');
    end if;
  end if;
  insert into signalbox.consumer_group (stream_id, name, queue_id, queue_window)
  values (v_stream.stream_id, create_group.name, v_queue_id, case when v_queue_id is not null then create_group.queue_window end)
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
    perform signalbox._refuse('queue', format('is not the one that the group %s feeds', quote_literal(create_group.name)));
  end if;
  return v_group.group_id;
end $$;

create or replace function signalbox._check_point(p_point text, p_at timestamptz, p_points text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_point is null or p_point <> all(p_points) then
    perform signalbox._refuse('point', format('is %s: it must be one of %s',
      coalesce(quote_literal(left(p_point, 60)), 'null'), array_to_string(p_points, ', ')));
  end if;
  if (p_point = 'time') <> (p_at is not null) then
    perform signalbox._refuse('at', case when p_at is null then 'is missing: which time?' else 'goes with the point ''time'' only' end);
  end if;
end $$;

-- The position behind which a group begins that starts at a point of history. The end is the last position that is settled:
-- what is being appended now comes to the group. A time is looked for by halving the positions, a probe each; positions
-- follow time but for what is appended at the same moment, so it steps back a second.
create or replace function signalbox._position_at(p_stream_id integer, p_partition integer, p_point text, p_at timestamptz)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_low bigint;
  v_high bigint := (
    select signalbox._horizons(s.stream_id, s.positions) from signalbox.stream s where s.stream_id = p_stream_id
  )[p_partition + 1];
  v_middle bigint;
  v_found record;
begin
  select p.first_position - 1 into v_low
  from signalbox.stream_partition p
  where p.stream_id = p_stream_id and p.partition = p_partition;
  if p_point = 'beginning' then
    return v_low;
  elsif p_point = 'end' then
    return greatest(v_low, v_high);
  end if;
  while v_low < v_high loop
    v_middle := (v_low + v_high) / 2;
    v_found := signalbox._first_behind(p_stream_id, p_partition, v_middle, v_high);
    if v_found.appended_at < p_at - interval '1 second' then
      v_low := v_found.position;
    else
      v_high := v_middle;
    end if;
  end loop;
  return v_low;
end $$;

-- The first message behind a position, up to another. A probe of each segment's primary key.
create or replace function signalbox._first_behind(
  p_stream_id integer, p_partition integer, p_position bigint, p_through bigint, out "position" bigint, out appended_at timestamptz
)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format(
    'select m.position, m.appended_at from signalbox.%I m'
    ' where m.partition = $1::smallint and m.position > $2 and m.position <= $3 order by m.position limit 1',
    'stream_message_' || p_stream_id
  )
  into position, appended_at
  using p_partition, p_position, p_through;
end $$;
