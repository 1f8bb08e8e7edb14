-- Who keeps PostgreSQL from removing dead rows of this database, oldest first: sessions, prepared transactions,
-- replication slots, standbys. Reads only what the server keeps in memory and the last 600 aggregations, never a
-- message.
--
-- The start time is known for sessions that this role may see and for prepared transactions. Other ids are dated by
-- aggregations: those whose snapshot ends after the id came later, those whose snapshot ends before it came earlier.
-- Aggregations also show when an old READ COMMITTED transaction holds a young snapshot. Holders younger than
-- `young_seconds` are at work, and are left out. Left out as well: this session, VACUUM (its snapshot holds nothing),
-- workers of a parallel query (their leader is here), other databases' sessions that have no transaction id (only an id
-- reaches into the snapshots of this one). The functions under pg_stat_activity and pg_stat_replication are asked
-- directly: planning the views took twice as long. Index: aggregation_pkey.
with here as (
  select
    d.oid as database_oid,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next_xid,
    pg_has_role('pg_read_all_stats', 'usage') as reads_all
  from pg_database d
  where d.datname = current_database()
), session as (
  select
    case
      when r.pid is not null and a.datid is null then 'standby'
      when h.reads_all or coalesce(pg_has_role(a.usesysid, 'usage'), false) then 'backend'
      else 'hidden_backend'
    end as kind,
    a.*,
    greatest(age(a.backend_xmin), age(a.backend_xid)) as xmin_age,
    r.state as replication_state
  from here h
  cross join pg_stat_get_activity(null) a
  left join pg_stat_get_wal_senders() r on r.pid = a.pid
  where a.pid <> pg_backend_pid()
    and (
      a.backend_xid is not null or (a.backend_xmin is not null and coalesce(a.datid, h.database_oid) = h.database_oid)
    )
    and a.backend_type is distinct from 'parallel worker'
    and not exists (select from pg_stat_progress_vacuum v where v.pid = a.pid)
), holder as (
  select
    s.kind,
    case s.kind when 'standby' then coalesce(nullif(s.application_name, ''), s.pid::text) else s.pid::text end as name,
    s.pid,
    case when s.usesysid <> 0 then pg_get_userbyid(s.usesysid)::text end as user_name,
    (select d.datname::text from pg_database d where d.oid = s.datid) as database_name,
    coalesce(nullif(s.application_name, ''), s.backend_type) as application,
    case when s.client_port = -1 then 'local socket' else host(s.client_addr) end as client,
    coalesce(s.replication_state, s.state) as state,
    case s.kind when 'backend' then s.xact_start end as started_at,
    case s.kind when 'backend' then s.query_start end as query_started_at,
    case s.kind when 'backend' then s.query end as query,
    s.xmin_age
  from session s
  where s.kind <> 'backend' -- spares most sessions of a busy server the search of aggregations
    or coalesce(s.xact_start <= clock_timestamp() - make_interval(secs => %(young_seconds)s), true)
  union all
  select
    'prepared_transaction', p.gid, null, p.owner::text, p.database::text, null, null, 'prepared', p.prepared, null,
    null,
    age(p.transaction)
  from pg_prepared_xacts p
  union all
  select
    case when l.xmin is null then 'catalog_slot' else 'replication_slot' end,
    l.slot_name::text, l.active_pid, null, l.database::text, l.plugin::text, null,
    case when l.active then 'active' else 'inactive' end, null, null, null,
    age(coalesce(l.xmin, l.catalog_xmin))
  from pg_replication_slots l
  where (l.xmin is not null or l.catalog_xmin is not null)
    and l.wal_status is distinct from 'lost'
), fold as materialized (
  select
    pg_snapshot_xmax(f.snapshot)::text::bigint as next_xid,
    date_part('epoch', clock_timestamp() - f.aggregated_at) as age
  from signalbox.aggregation f
  where f.aggregation_id > (select max(m.aggregation_id) from signalbox.aggregation m) - 600
), dated as (
  select
    o.*,
    date_part('epoch', clock_timestamp() - o.started_at) as known,
    (select max(f.age) from fold f where f.next_xid > h.next_xid - o.xmin_age and f.next_xid <= h.next_xid) as at_least,
    (select min(f.age) from fold f where f.next_xid <= h.next_xid - o.xmin_age) as at_most
  from holder o
  cross join here h
), aged as (
  select
    d.*,
    case
      when d.known is null then d.at_least
      when d.kind = 'backend' then least(d.known, d.at_most)
      else greatest(d.known, d.at_least)
    end as age
  from dated d
)
select
  a.kind,
  a.name,
  a.xmin_age as age_transactions,
  case when a.age is not null then greatest(a.age, 0) end as age_seconds,
  a.pid,
  a.user_name,
  a.database_name,
  a.application,
  a.client,
  a.state,
  a.started_at,
  a.query_started_at,
  a.query,
  current_user::text as reader
from aged a
where greatest(coalesce(case when a.known is null then a.at_most end, a.age, 'infinity'), 0) >= %(young_seconds)s
order by
  a.xmin_age desc,
  a.kind = 'hidden_backend', -- other kinds first, if equally old
  a.age desc nulls last,
  a.kind,
  a.name
