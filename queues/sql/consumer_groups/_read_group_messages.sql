-- Read the next messages of a member's partitions, as read_stream does, except for partitions in p_without. A group
-- with a filter looks at c_look messages of a partition at a time; where it selects none of them, they are committed.
-- The pointer to a large body is looked up in the snapshot before that of the message: what is below the horizon was
-- committed before both, and is deleted together with its pointer.
create or replace function signalbox._read_group_messages(
  p_group_id integer, p_member text, p_max_messages integer, p_without integer[] default '{}'
)
returns table (
  partition integer, "position" bigint, epoch bigint, key text, payload jsonb, attributes jsonb, trace_id text,
  appended_at timestamptz, body jsonb
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  c_look constant integer := 1000;
  c_looks constant integer := 20; -- of a partition in one call
  v_stream signalbox.stream;
  v_horizons bigint[];
  v_own record;
  v_left integer := p_max_messages;
  v_read integer;
  v_first bigint;
  v_last bigint;
  v_looks integer;
  v_group record;
begin
  select g.conditions, g.negated, cardinality(g.conditions) > 0 as filters into v_group
  from signalbox.consumer_group g
  where g.group_id = p_group_id;
  select s.* into v_stream
  from signalbox.consumer_group g
  join signalbox.stream s on s.stream_id = g.stream_id
  where g.group_id = p_group_id;
  -- From here on retention may begin to drop a segment, and cannot finish (drop_stream_segment).
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
    v_looks := 0;
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
      select v_own.partition::integer, r.position, v_own.epoch, r.key, r.payload, r.attributes, r.trace_id,
        r.appended_at,
        case when r.payload = 'null'
          then signalbox._stream_body(v_stream.stream_id, v_own.partition, r.position) end
      from signalbox._read_partition(
        v_stream.stream_id, v_own.partition, v_own.committed, v_horizons[v_own.partition + 1],
        case when v_group.filters then greatest(v_left, c_look) else v_left end, v_first
      ) r
      where not v_group.filters
        or signalbox._selects(v_group.conditions, v_group.negated, r.payload, r.attributes, r.key, null, r.trace_id)
      limit v_left; -- in the order of positions, as they are scanned
      get diagnostics v_read = row_count;
      v_left := v_left - v_read;
      exit when v_read > 0;
      if v_group.filters then
        select max(r.position) into v_last
        from signalbox._read_partition(
          v_stream.stream_id, v_own.partition, v_own.committed, v_horizons[v_own.partition + 1],
          greatest(v_left, c_look), v_first
        ) r;
        if v_last is not null then
          exit when not signalbox._commit_offset(p_group_id, v_own.partition, p_member, v_own.epoch, v_last);
          v_own.committed := v_last;
          v_looks := v_looks + 1;
          exit when v_looks = c_looks;
          continue;
        end if;
      end if;
      perform from signalbox.stream_partition f
      where f.stream_id = v_stream.stream_id and f.partition = v_own.partition and f.first_position = v_first;
      if found then -- the positions in between were rolled back; they are no lag
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
