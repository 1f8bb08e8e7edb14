"""What queues that were deleted were called: their history outlives them, and goes into the archive with their names."""

from django.db import migrations

FORMER = """
create table if not exists signalbox.former_queue (
  queue_id integer primary key,
  name text not null,
  tenant_id integer not null,
  deleted_at timestamptz not null default clock_timestamp()
);
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0023_erasures")]
    operations = [migrations.RunSQL(FORMER, migrations.RunSQL.noop)]
