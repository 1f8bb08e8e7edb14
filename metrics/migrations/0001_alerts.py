"""Alerts, one row for each time one fired."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("queues", "0011_audit_chain")]

    operations = [
        migrations.CreateModel(
            name="Alert",
            fields=[
                ("alert_id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "source",
                    models.CharField(choices=[("prometheus", "Prometheus"), ("console", "Console")], max_length=10),
                ),
                ("fingerprint", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[("pending", "Pending"), ("firing", "Firing"), ("resolved", "Resolved")], max_length=8
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("severity", models.CharField(db_default="", max_length=20)),
                ("tenant_name", models.CharField(db_default="", max_length=100)),
                ("queue_name", models.CharField(db_default="", max_length=100)),
                ("summary", models.CharField(db_default="", max_length=2000)),
                ("description", models.CharField(db_default="", max_length=2000)),
                ("runbook_url", models.CharField(db_default="", max_length=2000)),
                ("labels", models.JSONField(db_default={})),
                ("starts_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("resolved_at", models.DateTimeField(null=True)),
                ("calm_since", models.DateTimeField(null=True)),
                ("notified_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "alert",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "resolved"), _negated=True),
                        fields=["starts_at"],
                        name="alert_open",
                    ),
                    models.Index(condition=models.Q(("state", "resolved")), fields=["-alert_id"], name="alert_over"),
                    models.Index(fields=["queue_name", "-alert_id"], name="alert_queue"),
                    models.Index(fields=["name", "-seen_at"], name="alert_name"),
                    models.Index(fields=["seen_at"], name="alert_seen"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("source", "fingerprint", "starts_at"), name="alert_once")
                ],
            },
        ),
    ]
