-- Below which transaction everything is in the archive; null when history need not wait for one. One that has never worked is waited
-- for while it tries, and an hour after it was last heard of.
create or replace function signalbox._archived_below() returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select h.below from signalbox.archive_horizon h where h.holds or h.tried_at > now() - interval '1 hour'
$$;

-- Does the archive still need a day of settled or failed deliveries? Its BRIN index answers for days long past.
create or replace function signalbox._archive_needs(p_partition text) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_below bigint := signalbox._archived_below();
  v_needed boolean := false;
begin
  if v_below is not null and p_partition ~ '^(settled|failure)_' then
    execute format('select exists (select from signalbox.%I p where p.txid >= $1)', p_partition) into v_needed using v_below;
  end if;
  return v_needed;
end $$;

-- Messages that ended, or died, and whose bodies the archive has yet to fetch. Indexes: settled_ids, failure_txid (BRIN).
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

-- After a restore into a cluster whose transaction ids are behind (_rebase_counters): what is in the archive becomes 0, what
-- is not 1, and the horizon lies between. Ids of here and of there cannot be told apart, but what was archived happened before
-- the horizon moved there.
create or replace function signalbox._rebase_archive() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_horizon signalbox.archive_horizon;
begin
  select h.* into v_horizon from signalbox.archive_horizon h for update;
  if not found then
    return;
  end if;
  update signalbox.settled s
  set txid = case when s.txid < v_horizon.below and s.settled_at <= v_horizon.moved_at then 0 else 1 end;
  update signalbox.failure f
  set txid = case when f.txid < v_horizon.below and f.failed_at <= v_horizon.moved_at then 0 else 1 end;
  update signalbox.archive_horizon h set below = least(h.below, 1);
end $$;
