"""What people know about clusters of failures: notes, owners, states, and which of them are one."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dlq", "0004_saved_filters"),
    ]

    operations = [
        migrations.CreateModel(
            name="ClusterCare",
            fields=[
                ("fingerprint", models.TextField(primary_key=True, serialize=False)),
                ("note", models.TextField(db_default="")),
                ("owner", models.CharField(db_default="", max_length=150)),
                ("runbook_url", models.CharField(db_default="", max_length=500)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("acknowledged", "Acknowledged"), ("resolved", "Resolved")],
                        db_default="open",
                        max_length=12,
                    ),
                ),
                ("state_changed_at", models.DateTimeField(null=True)),
                ("state_changed_by", models.CharField(db_default="", max_length=150)),
            ],
            options={
                "db_table": "cluster_care",
            },
        ),
        migrations.CreateModel(
            name="ClusterMember",
            fields=[
                ("fingerprint", models.TextField(primary_key=True, serialize=False)),
                ("head", models.TextField(db_index=True)),
                ("merged_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("merged_by", models.CharField(max_length=150)),
            ],
            options={
                "db_table": "cluster_member",
            },
        ),
    ]
