-- The place of the first message that was appended with a deduplication id within the stream's window; null places when
-- there is none. The same id with another message is an error that names the first place. The caller has the id's lock.
-- Index: stream_dedup_key.
create or replace function signalbox._first_append(
  p_stream_id integer, p_deduplication_id text, p_hash bytea, out "partition" integer, out "position" bigint
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hash bytea;
begin
  select d.partition, d.position, d.request_hash
  into _first_append.partition, _first_append.position, v_hash
  from signalbox.stream_dedup d
  where d.stream_id = p_stream_id
    and d.deduplication_id = p_deduplication_id
    and d.expires_at > clock_timestamp()
    and d.appended_at > clock_timestamp() - interval '24 hours'  -- the longest window; prunes older partitions
  order by d.appended_at desc
  limit 1;
  if v_hash <> p_hash then
    raise exception using
      errcode = 'SB409',
      message = format(
        'deduplication_id %s was appended with another body, at position %s of partition %s',
        quote_literal(p_deduplication_id), _first_append.position, _first_append.partition
      ),
      hint = 'Use another deduplication id for another message.',
      column = 'deduplication_id';
  end if;
end $$;
