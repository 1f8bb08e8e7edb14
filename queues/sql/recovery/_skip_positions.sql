-- Move the positions of all streams on by a number. The offset of a group that has read everything moves too, or the
-- group would seem to lag by the gap.
create or replace function signalbox._skip_positions(p_skip bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_partition record;
  v_last bigint;
begin
  for v_partition in
    select s.stream_id, p.place - 1 as partition, p.positions
    from signalbox.stream s, unnest(s.positions) with ordinality p(positions, place)
    order by 1, 2
  loop
    v_last := coalesce(pg_sequence_last_value(v_partition.positions), 0);
    insert into signalbox.group_offset (group_id, partition, position)
    select g.group_id, v_partition.partition, v_last + p_skip
    from signalbox.consumer_group g
    cross join lateral (
      select o.position
      from signalbox.group_offset o
      where o.group_id = g.group_id and o.partition = v_partition.partition
      order by o.offset_id desc
      limit 1
    ) o
    where g.stream_id = v_partition.stream_id
      and (
        select b.position
        from signalbox._first_behind(v_partition.stream_id, v_partition.partition::integer, o.position, v_last) b
      ) is null;
    perform setval(v_partition.positions, v_last + p_skip);
  end loop;
end $$;
