"""API keys. Access, which has no table, was here before: its permissions and who has them stay as they are."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("queues", "0014_history_steps")]

    operations = [
        migrations.CreateModel(
            name="Access",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
            ],
            options={
                "permissions": (
                    ("see_metadata", "see queues, numbers and message facts"),
                    ("see_payloads", "see payloads, attributes and stacks, and send test messages"),
                    ("redrive", "redrive dead letters"),
                    ("silence", "silence alerts"),
                    ("purge", "purge messages"),
                    ("approve", "decide about what others ask for above the thresholds"),
                    ("reveal", "reveal masked fields"),
                    ("configure", "create, configure, pause and resume queues"),
                    ("administer", "give people their roles"),
                ),
                "managed": False,
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("api_key_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("identifier", models.CharField(max_length=12, unique=True)),
                ("secret_hash", models.BinaryField(max_length=32)),
                ("scopes", models.JSONField(help_text="A list of names, or of * alone.")),
                ("tenant_name", models.CharField(help_text="Empty: of all tenants.", max_length=100, null=True)),
                ("queue_prefix", models.CharField(db_default="", max_length=100)),
                ("rate_per_second", models.FloatField(null=True)),
                ("max_connections", models.IntegerField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("created_by", models.CharField(max_length=150)),
                ("expires_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("revoked_by", models.CharField(max_length=150, null=True)),
                ("last_used_at", models.DateTimeField(help_text="To the minute.", null=True)),
            ],
            options={
                "db_table": "api_key",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("revoked_at__isnull", True)), fields=("name",), name="api_key_name"
                    )
                ],
            },
        ),
    ]
