-- Tables of the archive and of erasures.

-- The transaction below which history is archived, one row. History above it is kept while `holds` is true. An archive
-- that has not succeeded yet holds history until an hour after `tried_at`: a dead first run must not fill the disk.
create table signalbox.archive_horizon (
  only_row boolean primary key default true check (only_row),
  below bigint not null,
  moved_at timestamptz not null,
  holds boolean not null default true,
  tried_at timestamptz
);

-- Messages that an erasure found, without payload or searched value, and what it did to each.
create table signalbox.erasure_find (
  erasure_id bigint not null,
  message_id bigint not null,
  queue_id integer,
  place text not null,
  became text not null check (became in ('erased', 'deleted', 'held', 'in_work', 'busy', 'counted')),
  open boolean not null default true,
  looked_in xid8 not null default pg_current_xact_id(),
  noted_at timestamptz not null default clock_timestamp(),
  primary key (erasure_id, message_id)
);
create index erasure_find_open on signalbox.erasure_find (erasure_id, message_id) where open;

-- Large bodies that an erasure has to remove from object storage.
create table signalbox.erasure_body (
  erasure_id bigint not null,
  sha256 bytea not null,
  removed boolean not null default false,
  primary key (erasure_id, sha256)
);
