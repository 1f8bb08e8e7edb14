"""The pipeline's runs and files, and the results that its jobs load into the database."""

from __future__ import annotations

from django.db import migrations, models
from django.db.models.functions import Now

KINDS_OF_RUN = [("archive", "Archive"), ("rollup", "Rollup"), ("replay", "Replay"), ("analyse", "Analysis")]


def key(*columns: str) -> models.CompositePrimaryKey:
    """Define a primary key of several columns."""
    return models.CompositePrimaryKey(*columns, blank=True, editable=False, primary_key=True, serialize=False)


class Migration(migrations.Migration):
    initial = True
    dependencies = [("queues", "0001_initial")]
    operations = [
        # Runs of the pipeline's jobs. One run of each kind is under way at a time.
        migrations.CreateModel(
            name="Run",
            fields=[
                ("run_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("token", models.CharField(max_length=12)),
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
                ("url", models.TextField()),
                ("low", models.BigIntegerField(null=True)),
                ("high", models.BigIntegerField(null=True)),
                ("parts", models.JSONField()),
                ("parts_done", models.IntegerField(db_default=0)),
                ("rows", models.BigIntegerField(db_default=0)),
                ("bytes", models.BigIntegerField(db_default=0)),
                ("started_by", models.CharField(max_length=150)),
                ("opened_at", models.DateTimeField(db_default=Now())),
                ("started_at", models.DateTimeField(db_default=Now())),
                ("seen_at", models.DateTimeField(db_default=Now())),
                ("finished_at", models.DateTimeField(null=True)),
                ("attempts", models.IntegerField(db_default=1)),
                ("cancel_requested", models.BooleanField(db_default=False)),
                ("error", models.TextField(db_default="")),
                ("kind", models.CharField(choices=KINDS_OF_RUN, db_default="archive", max_length=10)),
                ("outcome", models.JSONField(db_default={})),
                (
                    "taken_in_by",
                    models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="took_in", to="pipeline.run"),
                ),
            ],
            options={
                "db_table": "pipeline_run",
                "indexes": [models.Index(fields=["url", "-run_id"], name="pipeline_run_url")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("low__lte", models.F("high"))), name="pipeline_run_window"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "running")), fields=("kind",), name="pipeline_run_one_of_a_kind"
                    ),
                ],
            },
        ),
        # The files of the archive. A file counts once its run is committed.
        migrations.CreateModel(
            name="ArchiveFile",
            fields=[
                ("file_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=20)),
                ("day", models.DateField()),
                ("part", models.IntegerField()),
                ("path", models.TextField()),
                ("rows", models.BigIntegerField()),
                ("bytes", models.BigIntegerField()),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("run", models.ForeignKey(on_delete=models.PROTECT, related_name="files", to="pipeline.run")),
            ],
            options={
                "db_table": "pipeline_file",
                "indexes": [models.Index(fields=["kind", "day"], name="pipeline_file_day")],
                "constraints": [models.UniqueConstraint(fields=("run", "path"), name="pipeline_file_path")],
            },
        ),
        # Numbers of each hour and day (UTC), of each queue, each tenant (-n) and all queues together (0).
        migrations.CreateModel(
            name="Rollup",
            fields=[
                ("pk", key("scope", "seconds", "bucket_at")),
                ("scope", models.IntegerField()),
                ("seconds", models.IntegerField()),
                ("bucket_at", models.DateTimeField()),
                ("acked", models.BigIntegerField()),
                ("purged", models.BigIntegerField()),
                ("expired", models.BigIntegerField()),
                ("delivered", models.BigIntegerField()),
                ("retried", models.BigIntegerField()),
                ("dead_lettered", models.BigIntegerField()),
                ("waits", models.BigIntegerField()),
                ("wait_p50_ms", models.BigIntegerField(null=True)),
                ("wait_p95_ms", models.BigIntegerField(null=True)),
                ("wait_p99_ms", models.BigIntegerField(null=True)),
                ("works", models.BigIntegerField()),
                ("work_p50_ms", models.BigIntegerField(null=True)),
                ("work_p95_ms", models.BigIntegerField(null=True)),
                ("work_p99_ms", models.BigIntegerField(null=True)),
            ],
            options={"db_table": "pipeline_rollup"},
        ),
        # When the messages that ended were sent: counts by hour, of each run of the archive.
        migrations.CreateModel(
            name="Sent",
            fields=[
                ("pk", key("scope", "bucket_at", "run_id")),
                ("scope", models.IntegerField()),
                ("bucket_at", models.DateTimeField()),
                ("run", models.ForeignKey(on_delete=models.CASCADE, to="pipeline.run")),
                ("messages", models.BigIntegerField()),
            ],
            options={"db_table": "pipeline_sent"},
        ),
        # How many failures and successes the last failure analysis compared, by cause and queue.
        migrations.CreateModel(
            name="Comparison",
            fields=[
                ("pk", key("cause", "queue_id")),
                ("cause", models.TextField()),
                ("queue_id", models.IntegerField()),
                ("failures", models.BigIntegerField()),
                ("failures_unread", models.BigIntegerField()),
                ("successes", models.BigIntegerField()),
                ("successes_unread", models.BigIntegerField()),
                ("tests", models.BigIntegerField()),
                ("run", models.ForeignKey(on_delete=models.CASCADE, related_name="comparisons", to="pipeline.run")),
            ],
            options={"db_table": "pipeline_comparison"},
        ),
        # What distinguishes failures from successes, the strongest finding first.
        migrations.CreateModel(
            name="Finding",
            fields=[
                ("pk", key("cause", "queue_id", "place")),
                ("cause", models.TextField()),
                ("queue_id", models.IntegerField()),
                ("place", models.IntegerField()),
                ("path", models.JSONField()),
                ("kind", models.CharField(max_length=10)),
                ("value", models.TextField()),
                ("failures_with", models.BigIntegerField()),
                ("successes_with", models.BigIntegerField()),
                ("run", models.ForeignKey(on_delete=models.CASCADE, related_name="findings", to="pipeline.run")),
            ],
            options={"db_table": "pipeline_finding"},
        ),
        # Error texts of the last failure analysis, with their counts and trends.
        migrations.CreateModel(
            name="Template",
            fields=[
                ("template", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("reason", models.TextField()),
                ("error_class", models.TextField(null=True)),
                ("error", models.TextField(null=True)),
                ("failures", models.BigIntegerField()),
                ("deaths", models.BigIntegerField()),
                ("first_seen", models.DateTimeField()),
                ("last_seen", models.DateTimeField()),
                (
                    "trend",
                    models.CharField(
                        choices=[
                            ("new", "New"),
                            ("rising", "Rising"),
                            ("steady", "Steady"),
                            ("falling", "Falling"),
                            ("gone", "Gone"),
                        ],
                        max_length=10,
                    ),
                ),
                ("days", models.JSONField()),
                ("queue_count", models.BigIntegerField()),
                ("tenant_count", models.BigIntegerField()),
                ("fingerprint_count", models.BigIntegerField()),
                ("queues", models.JSONField()),
                ("fingerprints", models.JSONField()),
                ("run", models.ForeignKey(on_delete=models.CASCADE, related_name="templates", to="pipeline.run")),
            ],
            options={
                "db_table": "pipeline_template",
                "indexes": [models.Index(fields=["-failures", "template"], name="pipeline_template_failures")],
            },
        ),
        # Processes that keep Spark started between jobs.
        migrations.CreateModel(
            name="Server",
            fields=[
                ("server_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("host", models.CharField(max_length=255)),
                ("pid", models.IntegerField()),
                ("idle_seconds", models.IntegerField()),
                ("started_at", models.DateTimeField(db_default=Now())),
                ("seen_at", models.DateTimeField(db_default=Now())),
                ("used_at", models.DateTimeField(db_default=Now())),
                ("busy", models.BooleanField(db_default=False)),
                ("jobs", models.BigIntegerField(db_default=0)),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended", models.TextField(db_default="")),
            ],
            options={
                "db_table": "pipeline_server",
                "indexes": [models.Index(fields=["-seen_at"], name="pipeline_server_seen")],
            },
        ),
        # The progress of an erasure through the archive.
        migrations.CreateModel(
            name="ArchiveErasure",
            fields=[
                ("erasure_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("begun_at", models.DateTimeField(db_default=Now())),
                ("through_file_id", models.BigIntegerField()),
                ("round", models.IntegerField(db_default=1)),
                ("after_file_id", models.BigIntegerField(db_default=0)),
                ("files_looked", models.BigIntegerField(db_default=0)),
                ("files_rewritten", models.BigIntegerField(db_default=0)),
                ("rows_looked", models.BigIntegerField(db_default=0)),
                ("rows_erased", models.BigIntegerField(db_default=0)),
                ("unreadable", models.BigIntegerField(db_default=0)),
                ("findings_erased", models.BigIntegerField(db_default=0)),
                ("finished_at", models.DateTimeField(null=True)),
                ("note", models.TextField(db_default="")),
            ],
            options={"db_table": "pipeline_erasure"},
        ),
        # The messages that an erasure found in the archive.
        migrations.CreateModel(
            name="ErasedMessage",
            fields=[
                ("pk", key("erasure_id", "message_id")),
                ("erasure_id", models.BigIntegerField()),
                ("message_id", models.BigIntegerField()),
            ],
            options={"db_table": "pipeline_erased_message"},
        ),
        # Files of the archive that an erasure replaced, until they are removed.
        migrations.CreateModel(
            name="Discarded",
            fields=[
                ("discarded_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("erasure_id", models.BigIntegerField()),
                ("url", models.TextField()),
                ("path", models.TextField()),
                ("discarded_at", models.DateTimeField(db_default=Now())),
                ("removed_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "pipeline_discarded",
                "indexes": [
                    models.Index(
                        condition=models.Q(("removed_at", None)), fields=["erasure_id"], name="pipeline_discarded_there"
                    )
                ],
            },
        ),
        # Runs that people requested, until a worker takes them.
        migrations.CreateModel(
            name="RunRequest",
            fields=[
                ("request_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(choices=KINDS_OF_RUN, max_length=10)),
                ("arguments", models.JSONField(db_default={})),
                ("requested_by", models.CharField(max_length=150)),
                ("requested_at", models.DateTimeField(db_default=Now())),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("requested", "Requested"),
                            ("taken", "Taken"),
                            ("refused", "Refused: no worker could be asked"),
                        ],
                        db_default="requested",
                        max_length=10,
                    ),
                ),
                ("taken_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "pipeline_request",
                "indexes": [
                    models.Index(fields=["kind", "requested_by", "-requested_at"], name="pipeline_request_last")
                ],
            },
        ),
    ]
