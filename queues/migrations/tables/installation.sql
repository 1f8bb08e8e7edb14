-- The installation itself: its scripts, its settings' definitions, its server and its upkeep.

-- The scripts of queues/sql that are installed. A script whose checksum differs from its file is installed again.
create table signalbox.sql_script (
  name text primary key,
  checksum text not null,
  installed_at timestamptz not null
);

-- The settings that a queue may have, with their limits, copied from queues/settings.py after each migration.
create table signalbox.setting_definition (
  name text primary key,
  kind text not null,
  default_value jsonb,
  minimum double precision,
  maximum double precision,
  choices text[]
);

-- The key that signs a transaction's own session settings, so that no client can forge one. One row.
create table signalbox.secret (
  singleton boolean primary key default true check (singleton),
  key text not null default gen_random_uuid()::text || gen_random_uuid()
);
insert into signalbox.secret default values;

-- The PostgreSQL cluster in which each part of the engine noted its transaction ids: they mean nothing in another one.
create table signalbox.cluster_home (
  part text primary key,
  system_identifier bigint not null,
  noted_at timestamptz not null default clock_timestamp()
);

-- The servers that this database has run on, one row per cluster and epoch. notice_promotion adds a row after a
-- promotion and skips message ids that the former primary may have used. The first row is the server of this migration.
create table signalbox.promotion (
  cluster bigint not null,
  epoch integer not null,
  noticed_at timestamptz not null default clock_timestamp(),
  first_message_id bigint,
  primary key (cluster, epoch)
);
insert into signalbox.promotion (cluster, epoch)
select c.system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
from pg_control_system() c;

-- The process that runs upkeep now, and until when. At most one row.
create table signalbox.upkeep_leader (
  only_row boolean primary key default true check (only_row),
  token uuid not null,
  expires_at timestamptz not null
);
create sequence signalbox.upkeep_turn;
