-- Tables of the fleet: the cells, and which cell takes which part of which queue. All are empty where there is one cell.

-- The one row that says which cell this database is, and how new its copy of the list of cells is.
create table if not exists signalbox.fleet_directory (
  directory_id smallint primary key default 1 check (directory_id = 1),
  cell text not null,
  home text not null,
  version bigint not null,
  copied_at timestamptz not null default clock_timestamp()
);

create table if not exists signalbox.fleet_cell (
  name text primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  url text not null,
  region text not null default '',
  version bigint not null,
  added_at timestamptz not null default clock_timestamp()
);

-- Queues that were placed on cells. In a FIFO queue all messages without a group have one key.
create table if not exists signalbox.fleet_queue (
  queue text primary key,
  is_fifo boolean not null,
  version bigint not null
);

-- The cell of each partition of such a queue. Every change raises the epoch: of two copies the higher one counts.
-- `version` is that of the directory at the last change: a copy asks for what is newer.
-- settled: `cell` takes sends. closing: no cell takes any. draining: `cell` takes sends, and `from_cell` hands out what
-- it still has.
create table if not exists signalbox.fleet_placement (
  queue text not null references signalbox.fleet_queue (queue),
  partition smallint not null check (partition between 0 and 63),
  cell text not null,
  from_cell text,
  state text not null default 'settled' check (state in ('settled', 'closing', 'draining')),
  epoch bigint not null check (epoch > 0),
  version bigint not null,
  primary key (queue, partition)
);
create index if not exists fleet_placement_version on signalbox.fleet_placement (version);
