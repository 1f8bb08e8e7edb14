-- The bytes that the streams of a tenant have on disk, from the sizes of their segments, and those of their large
-- bodies. Reads no messages. Index: stream_body_pointer_age, for each stream.
create or replace function signalbox._stream_bytes_of(p_tenant_id integer) returns bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(signalbox._segment_bytes(g.table_name)), 0)::bigint + (
    select coalesce(sum(b.bytes), 0)::bigint
    from signalbox.stream s
    join signalbox.stream_body_pointer b on b.stream_id = s.stream_id
    where s.tenant_id = p_tenant_id
  )
  from signalbox.stream s
  join signalbox.stream_segment g on g.stream_id = s.stream_id
  where s.tenant_id = p_tenant_id
$$;
