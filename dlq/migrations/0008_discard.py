"""Discards: actions on streams that wait for an approval."""

from __future__ import annotations

from importlib import import_module

from django.db import migrations, models

jobs = import_module("dlq.migrations.0002_jobs")
ACTIONS = [
    ("delete", "deletion of the stream"),
    ("keep less", "settings that keep less"),
    ("skip", "seek that skips messages"),
    ("repeat", "seek that repeats messages"),
]


class Migration(migrations.Migration):
    dependencies = [("dlq", "0007_fleet_redrive")]
    operations = [
        migrations.CreateModel(
            name="Discard",
            fields=[
                *jobs.job_fields(),
                *jobs.approval_fields(),
                ("discard_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("action", models.CharField(choices=ACTIONS, max_length=10)),
                ("stream_id", models.IntegerField()),
                ("stream_name", models.CharField(max_length=100)),
                ("group_name", models.CharField(db_default="", max_length=100)),
                ("settings", models.JSONField(db_default={})),
                ("discarded", models.BigIntegerField(db_default=0)),
            ],
            options={
                "db_table": "discard",
                "indexes": jobs.job_indexes("discard"),
                "constraints": jobs.job_constraints("discard"),
            },
        ),
    ]
