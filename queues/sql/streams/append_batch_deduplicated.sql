-- append_batch_deduplicated(stream, payloads, deduplication_ids, ...): append many messages, as append_batch does, each
-- with a deduplication id or null. A message whose id the stream remembers, or an earlier message of the batch has, is
-- not appended: its row is the place of the first. Waits for open transactions that have appended with one of the ids.
-- Counts such messages, also when the transaction is rolled back. Needs READ COMMITTED. All are appended or none; the
-- other arguments are those of append_batch.
create or replace function signalbox.append_batch_deduplicated(
  stream text,
  payloads jsonb[],
  deduplication_ids text[],
  attributes jsonb[] default null,
  keys text[] default null,
  trace_ids text[] default null
) returns table (partition integer, "position" bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select a.partition, a.position
  from signalbox._append_batch_deduplicated(
    append_batch_deduplicated.stream, append_batch_deduplicated.payloads, append_batch_deduplicated.deduplication_ids,
    append_batch_deduplicated.attributes, append_batch_deduplicated.keys, append_batch_deduplicated.trace_ids, null
  ) with ordinality a(partition, position, number)
  order by a.number;
end $$;
