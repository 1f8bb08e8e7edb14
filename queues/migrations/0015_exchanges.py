"""What a broker of Celery's needs beside queues: mailboxes for what only a living process wants, and bindings.

Commands to workers, their replies and events go through mailboxes, which end with their owner, so that no queue is made
for them. What is in a mailbox is not logged: a crash of the database empties it, as a restart of the owner would.
"""

from django.db import migrations

EXCHANGES = """
create table signalbox.mailbox (
  mailbox_id bigint generated always as identity primary key,
  name text not null unique,
  keep_seconds double precision not null check (keep_seconds > 0),
  mail_seconds double precision not null check (mail_seconds > 0),
  expires_at timestamptz not null
);
create index mailbox_expiry on signalbox.mailbox (expires_at);
create unlogged table signalbox.mail (
  mail_id bigint generated always as identity,
  mailbox_id bigint not null references signalbox.mailbox on delete cascade,
  body jsonb not null,
  expires_at timestamptz not null,
  primary key (mailbox_id, mail_id)
);
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
"""
NO_EXCHANGES = "drop table signalbox.binding; drop table signalbox.mail; drop table signalbox.mailbox;"


class Migration(migrations.Migration):
    dependencies = [("queues", "0014_history_steps")]
    operations = [migrations.RunSQL(EXCHANGES, NO_EXCHANGES)]
