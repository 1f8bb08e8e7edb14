"""Keys that sign requests to the SQS endpoint, the last use of each key, and what only SQS knows of a queue."""

from __future__ import annotations

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("console", "0002_permissions"), ("queues", "0001_initial")]
    operations = [
        # The secret is encrypted: a signature cannot be checked with its hash.
        migrations.AddField(
            model_name="apikey",
            name="sqs_secret",
            field=models.TextField(help_text="Encrypted, of a key that signs requests; others have none.", null=True),
        ),
        migrations.AddField(
            model_name="apikey",
            name="last_used_with",
            field=models.CharField(help_text="The protocol and the client of that use.", max_length=200, null=True),
        ),
        # Attributes without a setting of the engine, and tags. Ids of queues are never used again.
        migrations.CreateModel(
            name="SqsQueue",
            fields=[
                ("queue_id", models.IntegerField(primary_key=True, serialize=False)),
                ("attributes", models.JSONField(default=dict)),
                ("tags", models.JSONField(default=dict)),
                ("changed_at", models.DateTimeField(db_default=Now())),
                ("purged_at", models.DateTimeField(null=True)),
            ],
            options={"db_table": "sqs_queue", "default_permissions": ()},
        ),
    ]
