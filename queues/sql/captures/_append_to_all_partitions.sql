-- Append one event without a row to each partition, so that it stands between the earlier and later events of every
-- key.
create or replace function signalbox._append_to_all_partitions(p_capture_id integer, p_op text, p_more jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_stream signalbox.stream;
  v_event jsonb;
begin
  select s.* into strict v_stream
  from signalbox.capture c
  join signalbox.stream s using (stream_id)
  where c.capture_id = p_capture_id;
  select jsonb_build_object(
    'op', p_op, 'table', c.table_id::regclass::text, 'key', null, 'before', null, 'after', null,
    'transaction_id', pg_current_xact_id()::text::bigint, 'order', nextval('signalbox.capture_order')
  ) || coalesce(p_more, '{}')
  into v_event
  from signalbox.capture c
  where c.capture_id = p_capture_id;
  -- No partition is added between these two statements.
  perform pg_advisory_xact_lock_shared(hashtext('signalbox.stream_partitions'), v_stream.stream_id);
  v_stream := signalbox._stream_of(v_stream.name);
  -- messages without a key take the partitions in turn
  perform signalbox.append_batch(v_stream.name, array_fill(v_event, array[v_stream.partitions::integer]));
end $$;
