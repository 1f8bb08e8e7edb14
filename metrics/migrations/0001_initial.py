"""Alerts, silences and notifications."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    initial = True
    dependencies = [("queues", "0001_initial")]
    operations = [
        # Alerts: one row for each time that an alert fired.
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
                ("seen_at", models.DateTimeField(db_default=Now())),
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
        # The last evaluation of the alert rules by Signalbox itself: one row.
        migrations.CreateModel(
            name="Evaluation",
            fields=[
                ("evaluation_id", models.SmallIntegerField(db_default=1, primary_key=True, serialize=False)),
                ("evaluated_at", models.DateTimeField()),
                ("evaluator", models.CharField(max_length=200)),
                ("seconds", models.FloatField()),
            ],
            options={"db_table": "alert_evaluation"},
        ),
        # Mails and webhook calls about alerts: those to send, and those sent or given up.
        migrations.CreateModel(
            name="Notification",
            fields=[
                ("notification_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("channel", models.CharField(choices=[("mail", "Mail"), ("webhook", "Webhook")], max_length=10)),
                ("target", models.CharField(max_length=2000)),
                ("news", models.JSONField()),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("sent", "Sent"), ("failed", "Failed")],
                        db_default="waiting",
                        max_length=8,
                    ),
                ),
                ("attempts", models.IntegerField(db_default=0)),
                ("due_at", models.DateTimeField(db_default=Now())),
                ("last_error", models.CharField(db_default="", max_length=2000)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("sent_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "alert_notification",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "waiting")), fields=["due_at"], name="alert_notification_due"
                    ),
                    models.Index(fields=["created_at"], name="alert_notification_created"),
                ],
            },
        ),
        # Silences: alerts that match one are shown, and no notification is sent.
        migrations.CreateModel(
            name="Silence",
            fields=[
                ("silence_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("alert_pattern", models.CharField(db_default="", max_length=200)),
                ("queue_pattern", models.CharField(db_default="", max_length=100)),
                ("comment", models.CharField(max_length=500)),
                ("created_by", models.CharField(max_length=150)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("ends_at", models.DateTimeField()),
                ("ended_by", models.CharField(db_default="", max_length=150)),
            ],
            options={
                "db_table": "alert_silence",
                "indexes": [models.Index(fields=["ends_at"], name="alert_silence_ends")],
            },
        ),
    ]
