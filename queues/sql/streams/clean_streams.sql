-- clean_streams(): delete offsets that a newer one of the same group and partition replaces, members whose lease ended
-- a day ago, and expired partitions of the groups' history. Never waits for a reader. Returns how many rows.
create or replace function signalbox.clean_streams() returns bigint
language plpgsql
set lock_timeout = '20ms'
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rows bigint;
  v_gone bigint;
  v_name text;
begin
  delete from signalbox.group_offset o
  using signalbox.group_partition p
  cross join lateral (
    select n.offset_id
    from signalbox.group_offset n
    where n.group_id = p.group_id and n.partition = p.partition
    order by n.offset_id desc
    limit 1
  ) n
  where o.group_id = p.group_id and o.partition = p.partition and o.offset_id < n.offset_id;
  get diagnostics v_rows = row_count;
  delete from signalbox.group_member m where m.lease_until < clock_timestamp() - interval '1 day';
  get diagnostics v_gone = row_count;
  for v_name in
    with named as materialized ( -- otherwise the planner may read the names of other tables as times
      select c.relname, s.part, s.kept
      from signalbox._group_history_steps() s
      join pg_inherits i on i.inhparent = ('signalbox.' || s.table_name)::regclass
      join pg_class c on c.oid = i.inhrelid and c.relname ~ '_\d{10}$'
    )
    select n.relname
    from named n
    where to_timestamp(
      right(n.relname, 10), 'YYYYMMDDHH24'
    )::timestamp at time zone 'UTC' + n.part < clock_timestamp() - n.kept
  loop
    begin
      execute format('drop table signalbox.%I', v_name);
    exception
      when lock_not_available then
        null; -- another transaction reads it: the next call
    end;
  end loop;
  return v_rows + v_gone;
end $$;
