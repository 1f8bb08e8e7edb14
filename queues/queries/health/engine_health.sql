-- The health of PostgreSQL as far as it affects queues, from its statistics and files: no row of a message is read.
-- The lag is null where this role may not see standbys, and 0 for an idle standby that has caught up.
select
  pg_notification_queue_usage() as notify_queue_usage,
  pg_database_size(current_database()) as database_bytes,
  case
    when pg_has_role('pg_read_all_stats', 'usage') or not exists (select from pg_stat_get_wal_senders())
    then (select coalesce(max(date_part('epoch', w.replay_lag)), 0) from pg_stat_get_wal_senders() w)
  end as replication_lag_seconds,
  -- The first eight digits of a log file's name are the server's timeline.
  case when not pg_is_in_recovery()
    then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint end as epoch,
  (
    select jsonb_object_agg(t.name, case
      when s.live + s.dead > 0 then s.dead / (s.live + s.dead)::double precision else 0
    end)
    from unnest(%(tables)s::text[]) t(name)
    cross join lateral (
      select pg_stat_get_live_tuples(r) as live, pg_stat_get_dead_tuples(r) as dead
      from (select ('signalbox.' || t.name)::regclass as r) r
    ) s
  ) as dead_tuple_ratios,
  (
    select coalesce(sum(r.trashed - r.restored - r.emptied), 0)::bigint
    from signalbox.trash_batch r
    where r.trashed > r.restored + r.emptied
  ) as trash_messages,
  (
    select greatest(date_part('epoch', min(r.expires_at) - clock_timestamp()), 0)
    from signalbox.trash_batch r
    where r.trashed > r.restored + r.emptied
  ) as trash_seconds_left,
  (
    select greatest(date_part('epoch', clock_timestamp() - h.moved_at), 0)
    from signalbox.archive_horizon h
    where h.holds
  ) as archive_age_seconds,
  (
    select count(distinct p.tablename) from pg_publication_tables p where p.schemaname = 'signalbox'
  ) as published_tables,
  (select count(*) from signalbox._unidentified_tables()) as unidentified_tables
