"""One name for moving a consumer group: `seek` takes the place of `rewind`, which no release has had.

Taking it back needs nothing: the functions of an earlier version are installed after its migrations.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("queues", "0015_group_claims")]
    operations = [
        migrations.RunSQL(
            "drop function if exists signalbox.rewind(text, text, text, timestamptz, integer, bigint, boolean)",
            migrations.RunSQL.noop,
        ),
    ]
