-- Check the deduplication ids of appends, and take their locks in sorted order, so that two batches never wait for each
-- other. Until the transaction ends, another append with one of these ids waits. Needs READ COMMITTED.
create or replace function signalbox._check_append_ids(p_stream_id integer, p_deduplication_ids text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('append with a deduplication id');
  end if;
  perform signalbox._check_options(null, 0, 0, null, d, null) from unnest(p_deduplication_ids) d where d is not null;
  perform pg_advisory_xact_lock(k.lock)
  from (
    select distinct hashtextextended(format('signalbox.append %s %s', p_stream_id, d), 0) as lock
    from unnest(p_deduplication_ids) d
    where d is not null
    order by 1
  ) k;
end $$;
