"""Policies of message groups: how many may wait, and the pause between releases, beside the limit in flight.

Taking it back leaves the tables, which functions of this release read until those of an earlier one are installed.
"""

from django.db import migrations

SQL = """
alter table signalbox.lane_limit alter column max_in_flight drop not null;
alter table signalbox.lane_limit add column if not exists max_waiting bigint check (max_waiting > 0);
alter table signalbox.lane_limit add column if not exists release_interval_seconds double precision
  check (release_interval_seconds >= 0);
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0007_captures")]
    operations = [migrations.RunSQL(SQL, migrations.RunSQL.noop)]
