-- seek(stream, group_name, point, at, partition, through_position): let a consumer group read from another point,
-- back or forward: 'beginning', 'end', 'time' (with at), or 'offset' (the last position that counts as read, of one
-- partition; one that retention has dropped is refused). `partition` limits the other points to one partition. Every
-- partition gets a new epoch, so that uncommitted reads of its member cannot be committed afterwards. dry_run => true
-- returns the same rows and moves nothing.
-- Returns the offset before and after for each partition, and how many positions lie between: above zero they are read
-- again, below zero they are skipped. Waits for open commits.
create or replace function signalbox.seek(
  stream text,
  group_name text,
  point text,
  at timestamptz default null,
  partition integer default null,
  through_position bigint default null,
  dry_run boolean default false
) returns table (of_partition integer, from_position bigint, to_position bigint, messages bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(seek.stream);
  v_group signalbox.consumer_group := signalbox._group_of(v_stream.stream_id, seek.group_name);
  v_one record;
  v_moved jsonb := '[]';
  v_first bigint;
begin
  perform signalbox._check_point(seek.point, seek.at, array['beginning', 'end', 'time', 'offset']);
  if seek.partition not between 0 and v_stream.partitions - 1 then
    perform signalbox._refuse('partition', format('must be from 0 to %s', v_stream.partitions - 1));
  end if;
  if (seek.point = 'offset') <> (seek.through_position is not null) or seek.point = 'offset'
    and seek.partition is null then
    perform signalbox._refuse(
      'through_position', 'goes with the point ''offset'' and a partition, and that needs both'
    );
  end if;
  if seek.through_position not between 0 and coalesce(
    pg_sequence_last_value(v_stream.positions[seek.partition + 1]), 0
  ) then
    perform signalbox._refuse(
      'through_position', format('is %s, and the partition has none such', seek.through_position)
    );
  end if;
  select f.first_position into v_first
  from signalbox.stream_partition f
  where f.stream_id = v_stream.stream_id and f.partition = seek.partition;
  if seek.through_position < v_first - 1 then
    perform signalbox._refuse('through_position', format(
      'is %s: retention has dropped the messages up to %s; the first position that is left is %s',
      seek.through_position, v_first - 1, v_first
    ));
  end if;
  if not seek.dry_run then
    perform from signalbox.group_partition p
    where p.group_id = v_group.group_id and p.partition = coalesce(seek.partition, p.partition)
    order by p.partition
    for no key update;
    update signalbox.group_partition p
    set epoch = p.epoch + 1
    where p.group_id = v_group.group_id and p.partition = coalesce(seek.partition, p.partition);
  end if;
  for v_one in
    select p.partition, o.position as committed, f.first_position
    from signalbox.group_partition p
    join signalbox.stream_partition f on f.stream_id = v_stream.stream_id and f.partition = p.partition
    cross join lateral (
      select o.position
      from signalbox.group_offset o
      where o.group_id = p.group_id and o.partition = p.partition
      order by o.offset_id desc
      limit 1
    ) o
    where p.group_id = v_group.group_id and p.partition = coalesce(seek.partition, p.partition)
    order by p.partition
  loop
    of_partition := v_one.partition;
    from_position := greatest(v_one.committed, v_one.first_position - 1);
    to_position := case
      when seek.point = 'offset' then greatest(seek.through_position, v_one.first_position - 1)
      else signalbox._position_at(v_stream.stream_id, v_one.partition, seek.point, seek.at)
    end;
    messages := from_position - to_position;
    if not seek.dry_run then
      insert into signalbox.group_offset (group_id, partition, position)
        values (v_group.group_id, v_one.partition, to_position);
    end if;
    v_moved := v_moved || jsonb_build_object(
      'partition', of_partition, 'from_position', from_position, 'to_position', to_position, 'messages', messages
    );
    return next;
  end loop;
  if not seek.dry_run then
    perform signalbox._audit_stream('group.seek', seek.stream, jsonb_build_object(
      'group', seek.group_name, 'point', seek.point, 'at', seek.at, 'partitions', v_moved
    ));
  end if;
end $$;
