"""An archive that has not yet succeeded holds history for as long as it is at work, and an hour: one that was killed in its
first run, and is never started again, must not fill the disk.
"""

from django.db import migrations

TRIAL = "alter table signalbox.archive_horizon add column tried_at timestamptz;"
BACK = "alter table signalbox.archive_horizon drop column tried_at;"


class Migration(migrations.Migration):
    dependencies = [("queues", "0018_staged_writes")]
    operations = [migrations.RunSQL(TRIAL, BACK)]
