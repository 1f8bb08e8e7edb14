-- log_captures(): the replication slot of each capture from the log: its state as in pg_replication_slots (lost: the
-- server has removed log that was not read; null: there is no slot), and how many bytes of the log are not read yet.
create or replace function signalbox.log_captures() returns table (
  capture_id integer, slot text, wal_status text, lag_bytes bigint
)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.capture_id, c.slot, s.wal_status,
    case when not pg_is_in_recovery() then pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn)::bigint end
  from signalbox.capture c
  left join pg_replication_slots s on s.slot_name = c.slot
  where c.slot is not null
  order by c.capture_id
$$;
