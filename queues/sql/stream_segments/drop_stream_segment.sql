-- drop_stream_segment(stream_id, starts_at): drop a segment of a stream, the last step, after it was detached. Frees the
-- large bodies of its messages first, ten thousand a call: while more are left the segment stays for the next call.
-- Index: stream_body_pointer_age.
create or replace function signalbox.drop_stream_segment(stream_id integer, starts_at timestamptz) returns void
language plpgsql
set lock_timeout = '200ms'
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  c_most constant integer := 10000;
  v_name text;
  v_freed integer;
begin
  select cardinality(signalbox._release_stream_bodies(
    drop_stream_segment.stream_id, array_agg(b.partition), array_agg(b.position)
  ))
  into v_freed
  from (
    select b.partition, b.position
    from signalbox.stream_segment g
    join signalbox.stream_body_pointer b on b.stream_id = g.stream_id and b.appended_at >= g.starts_at
      and b.appended_at < g.ends_at
    where g.stream_id = drop_stream_segment.stream_id and g.starts_at = drop_stream_segment.starts_at and g.leaving
    limit c_most
  ) b;
  if v_freed >= c_most then
    return;
  end if;
  delete from signalbox.stream_segment g
  where g.stream_id = drop_stream_segment.stream_id and g.starts_at = drop_stream_segment.starts_at and g.leaving
  returning g.table_name into v_name;
  if found then
    execute format('drop table signalbox.%I', v_name);
  end if;
end $$;
