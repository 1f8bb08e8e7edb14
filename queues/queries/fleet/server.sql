-- The server of this cell: its epoch (null on a standby), its standbys, and how far the last of them is behind, in
-- bytes of the write-ahead log (null without a standby).
select
  case when not pg_is_in_recovery() then
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
  end,
  (select count(*) from pg_stat_replication),
  case when not pg_is_in_recovery() then (
    select max(pg_wal_lsn_diff(pg_current_wal_lsn(), r.replay_lsn))::bigint
    from pg_stat_replication r
  ) end
