"""The console's own look for alerts: silences, and whom one still has to tell."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("metrics", "0001_alerts"),
    ]

    operations = [
        migrations.CreateModel(
            name="Evaluation",
            fields=[
                ("evaluation_id", models.SmallIntegerField(db_default=1, primary_key=True, serialize=False)),
                ("evaluated_at", models.DateTimeField()),
                ("evaluator", models.CharField(max_length=200)),
                ("seconds", models.FloatField()),
            ],
            options={
                "db_table": "alert_evaluation",
            },
        ),
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
                ("due_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("last_error", models.CharField(db_default="", max_length=2000)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
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
        migrations.CreateModel(
            name="Silence",
            fields=[
                ("silence_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("alert_pattern", models.CharField(db_default="", max_length=200)),
                ("queue_pattern", models.CharField(db_default="", max_length=100)),
                ("comment", models.CharField(max_length=500)),
                ("created_by", models.CharField(max_length=150)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("ends_at", models.DateTimeField()),
                ("ended_by", models.CharField(db_default="", max_length=150)),
            ],
            options={
                "db_table": "alert_silence",
                "indexes": [models.Index(fields=["ends_at"], name="alert_silence_ends")],
            },
        ),
    ]
