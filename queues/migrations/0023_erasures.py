"""What an erasure found, by the ids of messages: so that it knows which it has to look at once more, and what it did.

No payload is in it, nor what was searched for.
"""

from django.db import migrations

FINDS = """
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
create table signalbox.erasure_body (
  erasure_id bigint not null,
  sha256 bytea not null,
  removed boolean not null default false,
  primary key (erasure_id, sha256)
);
"""
BACK = "drop table signalbox.erasure_body; drop table signalbox.erasure_find;"


class Migration(migrations.Migration):
    dependencies = [("queues", "0022_names_home_and_anchors")]
    operations = [migrations.RunSQL(FINDS, BACK)]
