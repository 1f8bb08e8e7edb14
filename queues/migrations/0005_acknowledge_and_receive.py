"""receive takes one more argument: the old signature goes, so that a call is never ambiguous."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("queues", "0004_admission")]
    operations = [
        migrations.RunSQL(
            "drop function if exists signalbox.receive(text, integer, double precision, text, boolean)",
            migrations.RunSQL.noop,
        ),
    ]
