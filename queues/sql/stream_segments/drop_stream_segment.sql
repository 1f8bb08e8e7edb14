-- drop_stream_segment(stream_id, starts_at): drop a segment of a stream, the last step, after it was detached.
create or replace function signalbox.drop_stream_segment(stream_id integer, starts_at timestamptz) returns void
language plpgsql
set lock_timeout = '200ms'
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_name text;
begin
  delete from signalbox.stream_segment g
  where g.stream_id = drop_stream_segment.stream_id and g.starts_at = drop_stream_segment.starts_at and g.leaving
  returning g.table_name into v_name;
  if found then
    execute format('drop table signalbox.%I', v_name);
  end if;
end $$;
