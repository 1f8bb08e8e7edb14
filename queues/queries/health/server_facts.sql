-- What the server, the role and the catalog say about an installation, before and after its schema exists: no table of
-- Signalbox is read. Bytes that a slot keeps are null where this role may not ask for the log's position.
select
  current_setting('server_version_num')::integer as version_number,
  current_setting('server_version') as version,
  current_user::text as role,
  (select pg_get_userbyid(n.nspowner)::text from pg_namespace n where n.nspname = 'signalbox') as owner,
  (select r.rolsuper from pg_roles r where r.rolname = current_user) as is_superuser,
  has_database_privilege(current_database(), 'create') as may_create,
  pg_has_role('pg_read_all_stats', 'usage') as reads_all_statistics,
  pg_is_in_recovery() as is_standby,
  current_setting('autovacuum') = 'on' as vacuums,
  current_setting('max_connections')::integer as max_connections,
  (select count(*) from pg_stat_activity a where a.backend_type = 'client backend') as connections,
  pg_backend_pid() as backend_pid,
  clock_timestamp() as now,
  pg_database_size(current_database()) as database_bytes,
  array(
    select distinct p.pubname::text from pg_publication_tables p where p.schemaname = 'signalbox' order by 1
  ) as publications,
  array(
    select l.slot_name::text from pg_replication_slots l where not l.active order by 1
  ) as idle_slots,
  current_setting('max_slot_wal_keep_size') = '-1' as slots_are_unbounded
