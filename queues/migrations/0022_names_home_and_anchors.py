"""Names that queues had before, the cluster that this database lives in, and where the audit begins when its oldest rows have gone.

Going back leaves these tables: until the scripts of that version are installed, verbs go on asking them.
"""

from django.db import migrations

# The name is held for as long as the row is there: it works until `works_until`, and afterwards says what it is now.
NAMES = """
create table if not exists signalbox.queue_alias (
  name text primary key,
  queue_id integer not null references signalbox.queue (queue_id) on delete cascade,
  renamed_at timestamptz not null default clock_timestamp(),
  works_until timestamptz not null,
  last_used regclass not null
);
create index if not exists queue_alias_queue on signalbox.queue_alias (queue_id);
grant select on signalbox.queue_alias to public; -- as the floors: roles that were given rights before can still be refused in words
"""

# Transaction ids mean something within one cluster. Each part of the engine that goes by them notes whose they are.
HOME = """
create table if not exists signalbox.cluster_home (
  part text primary key,
  system_identifier bigint not null,
  noted_at timestamptz not null default clock_timestamp()
);
"""

ANCHORS = """
create table if not exists signalbox.audit_anchor (
  position bigint primary key check (position > 0),
  hash bytea not null,
  rows bigint not null check (rows > 0),
  through timestamptz not null,
  pruned_at timestamptz not null default clock_timestamp(),
  export text not null,
  export_sha256 bytea not null check (octet_length(export_sha256) = 32)
);
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0021_maintenance")]
    operations = [migrations.RunSQL(NAMES + HOME + ANCHORS, migrations.RunSQL.noop)]
