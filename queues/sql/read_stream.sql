-- read_stream(stream, group_name, member, max_messages): what a group has not read yet of the partitions that are this
-- member's: behind what was committed, up to the horizon (_horizons), the partition first that was committed longest ago. It
-- moves nothing: reading again without commit_offset gives the same again. Joins the group where the member is not in it.
-- What retention has dropped before the group came to it is counted as lost, never passed over in silence.
-- Cost: the group's few rows, pg_locks, and a probe of each segment's primary key (partition, position); never what was read.
create or replace function signalbox.read_stream(
  stream text, group_name text, member text, max_messages integer default 100
) returns table (
  partition integer, "position" bigint, epoch bigint, key text, payload jsonb, attributes jsonb, trace_id text, appended_at timestamptz
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(read_stream.stream);
  v_group signalbox.consumer_group := signalbox._group_of(v_stream.stream_id, read_stream.group_name);
begin
  if read_stream.max_messages is null or read_stream.max_messages not between 1 and 10000 then
    perform signalbox._refuse('max_messages', 'must be from 1 to 10000');
  end if;
  perform signalbox._check_member(v_group.name, v_group.queue_id is not null, read_stream.member);
  perform signalbox._renew_member(v_group.group_id, read_stream.member, null);
  perform signalbox._balance(v_group.group_id, read_stream.member, v_stream.partitions);
  return query select * from signalbox._read_group(v_group.group_id, read_stream.member, read_stream.max_messages);
end $$;

drop function if exists signalbox._read_group(integer, text, integer); -- of the release before

create or replace function signalbox._read_group(p_group_id integer, p_member text, p_max_messages integer, p_without integer[] default '{}')
returns table (
  partition integer, "position" bigint, epoch bigint, key text, payload jsonb, attributes jsonb, trace_id text, appended_at timestamptz
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream;
  v_horizons bigint[];
  v_own record;
  v_left integer := p_max_messages;
  v_read integer;
  v_first bigint;
begin
  select s.* into v_stream
  from signalbox.consumer_group g
  join signalbox.stream s on s.stream_id = g.stream_id
  where g.group_id = p_group_id;
  -- From here on retention can begin to take a segment away, and not end (drop_stream_segment).
  execute format('lock table only signalbox.%I in access share mode', 'stream_message_' || v_stream.stream_id);
  v_horizons := signalbox._horizons(v_stream.stream_id, v_stream.positions);
  for v_own in
    select p.partition, p.epoch, o.position as committed
    from signalbox.group_partition p
    cross join lateral (
      select o.position, o.committed_at
      from signalbox.group_offset o
      where o.group_id = p.group_id and o.partition = p.partition
      order by o.offset_id desc
      limit 1
    ) o
    where p.group_id = p_group_id and p.member = p_member and p.partition <> all(p_without)
    order by o.committed_at, p.partition
  loop
    exit when v_left = 0;
    loop
      select f.first_position into v_first
      from signalbox.stream_partition f
      where f.stream_id = v_stream.stream_id and f.partition = v_own.partition;
      if v_own.committed < v_first - 1 then
        exit when not signalbox._pass_lost(
          p_group_id, v_own.partition, p_member, v_own.epoch, v_own.committed, v_first
        );
        v_own.committed := v_first - 1;
      end if;
      return query
      select v_own.partition::integer, r.position, v_own.epoch, r.key, r.payload, r.attributes, r.trace_id, r.appended_at
      from signalbox._read_partition(
        v_stream.stream_id, v_own.partition, v_own.committed, v_horizons[v_own.partition + 1], v_left, v_first
      ) r;
      get diagnostics v_read = row_count;
      v_left := v_left - v_read;
      exit when v_read > 0;
      perform from signalbox.stream_partition f
      where f.stream_id = v_stream.stream_id and f.partition = v_own.partition and f.first_position = v_first;
      if found then -- nobody has what lies in between: it was rolled back. The lag must not keep it.
        if v_own.committed < v_horizons[v_own.partition + 1] then
          perform signalbox._commit_offset(
            p_group_id, v_own.partition, p_member, v_own.epoch, v_horizons[v_own.partition + 1]
          );
        end if;
        exit;
      end if;
    end loop;
  end loop;
end $$;

-- The messages of a partition behind one position, up to another. Its segments are merged, since a message may be in an
-- earlier one than its neighbour that was appended at the same moment; there are about ten. It gives nothing where the first
-- position is another than the reader knows of: then a segment has gone, or goes, and the same snapshot may not see it.
create or replace function signalbox._read_partition(
  p_stream_id integer, p_partition integer, p_behind bigint, p_through bigint, p_limit integer, p_first bigint
) returns table ("position" bigint, key text, payload jsonb, attributes jsonb, trace_id text, appended_at timestamptz)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute format(
    'select m.position, m.key, m.payload, m.attributes, m.trace_id, m.appended_at from signalbox.%I m'
    ' where m.partition = $1::smallint and m.position > $2 and m.position <= $3'
    ' and (select f.first_position from signalbox.stream_partition f where f.stream_id = $5 and f.partition = $1::smallint) = $6'
    ' order by m.position limit $4',
    'stream_message_' || p_stream_id
  )
  using p_partition, p_behind, p_through, p_limit, p_stream_id, p_first;
end $$;
