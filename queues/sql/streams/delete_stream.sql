-- delete_stream(name): delete a closed stream with its messages, groups and offsets, for good. Returns the id that it
-- had, which is never used again. Refused while the stream is open, feeds a queue, captures a table or has a member
-- that reads. Drops the stream's tables, for which it waits 200 ms: a transaction that has appended or reads is in the
-- way, and the error asks to try again. Call it as the owner of Signalbox.
create or replace function signalbox.delete_stream(name text) returns integer
language plpgsql
set lock_timeout = '200ms'
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream;
  v_table text;
begin
  select * into v_stream from signalbox.stream s where s.name = delete_stream.name for update;
  if not found then
    perform signalbox._refuse_unknown_stream(delete_stream.name);
  end if;
  perform signalbox._refuse_stream_in_use(v_stream.stream_id);
  delete from signalbox.consumer_group g where g.stream_id = v_stream.stream_id;
  delete from signalbox.stream_dedup d where d.stream_id = v_stream.stream_id;
  delete from signalbox.stream_key k where k.stream_id = v_stream.stream_id;
  delete from signalbox.stream_body_pointer b where b.stream_id = v_stream.stream_id;
  delete from signalbox.stream_partition p where p.stream_id = v_stream.stream_id;
  for v_table in
    delete from signalbox.stream_segment g where g.stream_id = v_stream.stream_id returning g.table_name
  loop
    execute format('drop table if exists signalbox.%I', v_table);
  end loop;
  execute format('drop table signalbox.%I', 'stream_message_' || v_stream.stream_id);
  delete from signalbox.stream s where s.stream_id = v_stream.stream_id;
  execute format('drop sequence %s', array_to_string(v_stream.positions || v_stream.turn || v_stream.repeats, ', '));
  perform signalbox._audit_stream('stream.delete', v_stream.name, jsonb_build_object(
    'settings', to_jsonb(v_stream) - array['name', 'turn', 'repeats', 'positions', 'admission_flags', 'segments_until']
  ));
  return v_stream.stream_id;
exception
  when lock_not_available then
    perform signalbox._refuse('name', format(
      'is %s, of which another transaction reads or to which it has appended: try again', quote_literal(delete_stream.name)
    ));
end $$;
