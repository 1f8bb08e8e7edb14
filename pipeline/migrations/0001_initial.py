"""Runs of the archive, and the manifest of its files."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("queues", "0017_archive")]

    operations = [
        migrations.CreateModel(
            name="Run",
            fields=[
                ("run_id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "token",
                    models.CharField(
                        help_text="In the names of its files, so that a restored database takes others.", max_length=12
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("committed", "Committed"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        db_default="running",
                        max_length=10,
                    ),
                ),
                ("url", models.TextField(help_text="Where the archive is.")),
                ("low", models.BigIntegerField(help_text="The first transaction of its window.")),
                ("high", models.BigIntegerField(help_text="The first transaction after its window.")),
                ("parts", models.JSONField(help_text="See pipeline.archive.parts.")),
                ("parts_done", models.IntegerField(db_default=0)),
                ("rows", models.BigIntegerField(db_default=0, help_text="Written so far, or, when committed, in all.")),
                ("bytes", models.BigIntegerField(db_default=0)),
                ("started_by", models.CharField(max_length=150)),
                ("opened_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "started_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), help_text="When it was taken up last."
                    ),
                ),
                (
                    "seen_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="When it last said how far it was.",
                    ),
                ),
                ("finished_at", models.DateTimeField(null=True)),
                ("attempts", models.IntegerField(db_default=1)),
                ("cancel_requested", models.BooleanField(db_default=False)),
                ("error", models.TextField(db_default="")),
            ],
            options={
                "db_table": "pipeline_run",
                "indexes": [models.Index(fields=["url", "-run_id"], name="pipeline_run_url")],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("state"), condition=models.Q(("state", "running")), name="pipeline_run_one_at_a_time"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("low__lte", models.F("high"))), name="pipeline_run_window"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ArchiveFile",
            fields=[
                ("file_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=20)),
                ("day", models.DateField(help_text="Of what is in it, in UTC.")),
                ("part", models.IntegerField()),
                ("path", models.TextField(help_text="Below the run's url.")),
                ("rows", models.BigIntegerField()),
                ("bytes", models.BigIntegerField()),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="files", to="pipeline.run"
                    ),
                ),
            ],
            options={
                "db_table": "pipeline_file",
                "indexes": [models.Index(fields=["kind", "day"], name="pipeline_file_day")],
                "constraints": [models.UniqueConstraint(fields=("run", "path"), name="pipeline_file_path")],
            },
        ),
    ]
