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
                ("low", models.BigIntegerField(help_text="The first transaction of its window.", null=True)),
                ("high", models.BigIntegerField(help_text="The first transaction after its window.", null=True)),
                ("parts", models.JSONField(help_text="See pipeline.archive.parts.")),
                ("parts_done", models.IntegerField(db_default=0)),
                ("rows", models.BigIntegerField(db_default=0, help_text="Written so far, or, when committed, in all.")),
                ("bytes", models.BigIntegerField(db_default=0)),
                ("started_by", models.CharField(max_length=150)),
                ("opened_at", models.DateTimeField(db_default=Now())),
                ("started_at", models.DateTimeField(db_default=Now(), help_text="When it was taken up last.")),
                ("seen_at", models.DateTimeField(db_default=Now(), help_text="When it last said how far it was.")),
                ("finished_at", models.DateTimeField(null=True)),
                ("attempts", models.IntegerField(db_default=1)),
                ("cancel_requested", models.BooleanField(db_default=False)),
                ("error", models.TextField(db_default="")),
                ("kind", models.CharField(choices=KINDS_OF_RUN, db_default="archive", max_length=10)),
                ("outcome", models.JSONField(db_default={}, help_text="What came of it, for people.")),
                (
                    "taken_in_by",
                    models.ForeignKey(
                        help_text="The rollup that has its files.",
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="took_in",
                        to="pipeline.run",
                    ),
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
                ("day", models.DateField(help_text="Of what is in it, in UTC.")),
                ("part", models.IntegerField()),
                ("path", models.TextField(help_text="Below the run's url.")),
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
                ("delivered", models.BigIntegerField(help_text="Deliveries of what ended.")),
                ("retried", models.BigIntegerField(help_text="Deliveries that failed, and were followed by another.")),
                ("dead_lettered", models.BigIntegerField()),
                ("waits", models.BigIntegerField(help_text="How many waits are behind the quantiles.")),
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
                (
                    "cause",
                    models.TextField(help_text="A fingerprint, or that of the failure group into which it was merged."),
                ),
                ("queue_id", models.IntegerField()),
                ("failures", models.BigIntegerField()),
                ("failures_unread", models.BigIntegerField(help_text="Too large to be looked at.")),
                ("successes", models.BigIntegerField()),
                ("successes_unread", models.BigIntegerField()),
                ("tests", models.BigIntegerField(help_text="How many things were compared.")),
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
                ("place", models.IntegerField(help_text="From 1, the strongest.")),
                ("path", models.JSONField(help_text="Part, then keys; null is any element of a list.")),
                ("kind", models.CharField(help_text="See pipeline.analysis.features.", max_length=10)),
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
                (
                    "template",
                    models.CharField(
                        help_text="The fingerprint without a stack.", max_length=40, primary_key=True, serialize=False
                    ),
                ),
                ("reason", models.TextField()),
                ("error_class", models.TextField(null=True)),
                (
                    "error",
                    models.TextField(
                        help_text="With what differs between occurrences taken out; it may quote.", null=True
                    ),
                ),
                ("failures", models.BigIntegerField(help_text="Failed deliveries.")),
                ("deaths", models.BigIntegerField(help_text="Those that were the last.")),
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
                ("days", models.JSONField(help_text="Failures of each day of the window.")),
                ("queue_count", models.BigIntegerField()),
                ("tenant_count", models.BigIntegerField()),
                ("fingerprint_count", models.BigIntegerField()),
                ("queues", models.JSONField(help_text="Those with the most: name, tenant, failures.")),
                ("fingerprints", models.JSONField(help_text="Those with the most.")),
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
                ("idle_seconds", models.IntegerField(help_text="After so long without a job it ends.")),
                ("started_at", models.DateTimeField(db_default=Now())),
                ("seen_at", models.DateTimeField(db_default=Now())),
                ("used_at", models.DateTimeField(db_default=Now())),
                ("busy", models.BooleanField(db_default=False)),
                ("jobs", models.BigIntegerField(db_default=0, help_text="How many have begun in it.")),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended", models.TextField(db_default="", help_text="Why it ended.")),
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
                (
                    "through_file_id",
                    models.BigIntegerField(help_text="What is archived later was read after the database was done."),
                ),
                ("round", models.IntegerField(db_default=1)),
                ("after_file_id", models.BigIntegerField(db_default=0)),
                ("files_looked", models.BigIntegerField(db_default=0)),
                ("files_rewritten", models.BigIntegerField(db_default=0)),
                ("rows_looked", models.BigIntegerField(db_default=0)),
                ("rows_erased", models.BigIntegerField(db_default=0)),
                (
                    "unreadable",
                    models.BigIntegerField(db_default=0, help_text="Payloads of the archive that are no JSON."),
                ),
                (
                    "findings_erased",
                    models.BigIntegerField(db_default=0, help_text="Of the failure analysis, that quoted it."),
                ),
                ("finished_at", models.DateTimeField(null=True)),
                ("note", models.TextField(db_default="", help_text="What it waits for.")),
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
                ("path", models.TextField(help_text="Below the url.")),
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
                ("arguments", models.JSONField(db_default={}, help_text="Of a replay: what to choose.")),
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
