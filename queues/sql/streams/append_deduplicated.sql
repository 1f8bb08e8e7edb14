-- append_deduplicated(stream, payload, deduplication_id, ...): append one message, as append does, unless one was
-- appended with this id within the stream's dedup_window_seconds: then return the place of that one. The same id with
-- another payload, attributes or key is SB409. Waits for an open transaction that has appended with the id. Needs READ
-- COMMITTED. The other arguments are those of append.
create or replace function signalbox.append_deduplicated(
  stream text,
  payload jsonb,
  deduplication_id text,
  attributes jsonb default null,
  key text default null,
  trace_id text default null
) returns table (partition integer, "position" bigint)
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select a.partition, a.position
  from signalbox.append_batch_deduplicated(
    append_deduplicated.stream, array[append_deduplicated.payload], array[append_deduplicated.deduplication_id],
    array[append_deduplicated.attributes], array[append_deduplicated.key], array[append_deduplicated.trace_id]
  ) a
$$;
