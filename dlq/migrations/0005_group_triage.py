"""Triage of failure groups: snoozing, and a thread of comments."""

from __future__ import annotations

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    """Columns of a snooze, and the table of comments."""

    dependencies = [("dlq", "0003_canary")]

    operations = [
        migrations.AddField("GroupNote", "snoozed_until", models.DateTimeField(null=True)),
        migrations.AddField("GroupNote", "snoozed_failures", models.BigIntegerField(null=True)),
        migrations.CreateModel(
            name="GroupComment",
            fields=[
                ("comment_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("fingerprint", models.TextField()),
                ("author", models.CharField(max_length=150)),
                ("text", models.TextField()),
                ("written_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "failure_group_comment",
                "indexes": [models.Index(fields=["fingerprint", "comment_id"], name="failure_group_comment_thread")],
            },
        ),
    ]
