-- Give a stream more partitions, and each of its groups their offsets: from the first message of each. With the owner's
-- rights, which sequences need. An appender whose statement began before the commit still uses the former partitions. A
-- group that is being made holds this up, or waits for it, so that none is without the new partitions; it waits at most
-- two seconds.
create or replace function signalbox._add_partitions(p_stream_id integer, p_partitions integer) returns void
language plpgsql
security definer
set lock_timeout = '2s'
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_stream signalbox.stream;
begin
  perform pg_advisory_xact_lock(hashtext('signalbox.stream_partitions'), p_stream_id);
  select * into v_stream from signalbox.stream s where s.stream_id = p_stream_id for no key update;
  if p_partitions < v_stream.partitions then
    perform signalbox._refuse_fewer_partitions(v_stream.partitions, p_partitions);
  end if;
  v_stream.positions := v_stream.positions
    || signalbox._make_positions(p_stream_id, v_stream.partitions, p_partitions - 1);
  insert into signalbox.group_partition (group_id, partition)
  select g.group_id, p
  from signalbox.consumer_group g
  cross join generate_series(v_stream.partitions, p_partitions - 1) p
  where g.stream_id = p_stream_id;
  insert into signalbox.group_offset (group_id, partition, position)
  select g.group_id, p, 0
  from signalbox.consumer_group g
  cross join generate_series(v_stream.partitions, p_partitions - 1) p
  where g.stream_id = p_stream_id;
  update signalbox.stream s set partitions = p_partitions, positions = v_stream.positions
  where s.stream_id = p_stream_id;
exception
  when lock_not_available then
    perform signalbox._refuse(
      'partitions', 'cannot grow while another transaction makes a group of the stream: try again'
    );
end $$;
revoke execute on function signalbox._add_partitions(integer, integer) from public;
