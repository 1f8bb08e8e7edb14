-- Messages that ended or died and whose bodies the archive has not fetched yet. Indexes: settled_ids, failure_txid
-- (BRIN).
create or replace function signalbox._unarchived_endings() returns setof bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select m.message_id
  from signalbox.settled s, unnest(s.message_ids) m(message_id)
  where s.txid >= signalbox._archived_below()
  union all
  select f.message_id
  from signalbox.failure f
  where f.txid >= signalbox._archived_below() and f.retry_at is null
$$;
