-- Tables of the Celery broker: mailboxes, mail and bindings.

-- Mailboxes of processes: for commands to workers, replies and events. A mailbox is deleted when its owner ends.
create table signalbox.mailbox (
  mailbox_id bigint generated always as identity primary key,
  name text not null unique,
  keep_seconds double precision not null check (keep_seconds > 0),
  mail_seconds double precision not null check (mail_seconds > 0),
  expires_at timestamptz not null
);
create index mailbox_expiry on signalbox.mailbox (expires_at);

-- Messages in mailboxes. Unlogged: a crash of the database empties the table, as a restart of the owners would.
create unlogged table signalbox.mail (
  mail_id bigint generated always as identity,
  mailbox_id bigint not null references signalbox.mailbox on delete cascade,
  body jsonb not null,
  expires_at timestamptz not null,
  primary key (mailbox_id, mail_id)
);

-- Bindings of exchanges to queues and mailboxes.
create table signalbox.binding (
  binding_id bigint generated always as identity primary key,
  exchange text not null,
  kind text not null check (kind in ('direct', 'topic', 'fanout')),
  routing_key text not null,
  pattern text,
  queue_id integer references signalbox.queue on delete cascade,
  mailbox_id bigint references signalbox.mailbox on delete cascade,
  check (num_nonnulls(queue_id, mailbox_id) = 1)
);
create unique index binding_of_queue on signalbox.binding (exchange, routing_key, queue_id)
  where queue_id is not null;
create unique index binding_of_mailbox on signalbox.binding (exchange, routing_key, mailbox_id)
  where mailbox_id is not null;
create index binding_exchange on signalbox.binding (exchange);
create index binding_queue on signalbox.binding (queue_id) where queue_id is not null;
create index binding_mailbox on signalbox.binding (mailbox_id) where mailbox_id is not null;
