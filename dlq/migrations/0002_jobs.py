"""Jobs over dead letters and other messages: redrives, deletions, purges, undos and erasures."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models
from django.db.models.functions import Now


def job_fields() -> list[tuple[str, models.Field[Any, Any]]]:
    """List the columns of every job: its state, its owner, its times and the lease of its runner."""
    return [
        (
            "state",
            models.CharField(
                choices=[
                    ("pending", "Pending"),
                    ("running", "Running"),
                    ("paused", "Paused"),
                    ("cancelled", "Cancelled"),
                    ("done", "Done"),
                    ("failed", "Failed"),
                    ("awaiting", "awaiting approval"),
                    ("refused", "Refused"),
                    ("expired", "Expired"),
                ],
                db_default="pending",
                max_length=10,
            ),
        ),
        ("created_by", models.CharField(max_length=150)),
        ("reason", models.CharField(db_default="", max_length=500)),
        ("created_at", models.DateTimeField(db_default=Now())),
        ("started_at", models.DateTimeField(null=True)),
        ("last_batch_at", models.DateTimeField(null=True)),
        ("finished_at", models.DateTimeField(null=True)),
        ("error", models.TextField(db_default="")),
        ("total_estimate", models.BigIntegerField(db_default=0)),
        ("total_is_exact", models.BooleanField(db_default=False)),
        ("runner", models.UUIDField(null=True)),
        ("lease_expires_at", models.DateTimeField(null=True)),
    ]


def selection_fields() -> list[tuple[str, models.Field[Any, Any]]]:
    """List the columns of a job over dead letters: the filter, its bounds, and how far the job is."""
    return [
        ("filter_text", models.TextField(db_default="")),
        ("as_of", models.DateTimeField()),
        ("lower_bound", models.BigIntegerField()),
        ("upper_bound", models.BigIntegerField()),
        ("cursor", models.BigIntegerField()),
        ("skipped", models.BigIntegerField(db_default=0)),
        ("source_queues", models.JSONField(db_default=[])),
    ]


def approval_fields() -> list[tuple[str, models.Field[Any, Any]]]:
    """List the columns of a job that may need a second person's yes."""
    return [
        ("needs_approval", models.BooleanField(db_default=False)),
        ("approval_expires_at", models.DateTimeField(null=True)),
        ("approved_by", models.CharField(max_length=150, null=True)),
        ("decided_at", models.DateTimeField(null=True)),
        ("decision_reason", models.CharField(db_default="", max_length=500)),
    ]


def job_indexes(table: str) -> list[models.Index]:
    """Index the jobs that a runner may have to take up, and those that wait for approval."""
    is_active, is_awaiting = models.Q(state__in=["pending", "running", "paused"]), models.Q(state="awaiting")
    return [
        models.Index(condition=is_active, fields=["state"], name=f"{table}_active"),
        models.Index(condition=is_awaiting, fields=["approval_expires_at"], name=f"{table}_awaiting"),
    ]


def job_constraints(table: str) -> list[models.CheckConstraint]:
    """Refuse an approval by the person who created the job, and a job that runs without the approval it needs."""
    by_another = models.Q(approved_by=None) | ~models.Q(approved_by=models.F("created_by"))
    approved = models.Q(needs_approval=False) | models.Q(approved_by__isnull=False)
    not_run = models.Q(state__in=["awaiting", "refused", "expired", "cancelled"])
    return [
        models.CheckConstraint(condition=by_another, name=f"{table}_second_person"),
        models.CheckConstraint(condition=approved | not_run, name=f"{table}_approved"),
    ]


class Migration(migrations.Migration):
    initial = True
    dependencies = [("dlq", "0001_initial")]
    operations = [
        # Redrives of dead letters or of staged messages, with rate limit, canary and outcomes.
        migrations.CreateModel(
            name="Redrive",
            fields=[
                *job_fields(),
                *selection_fields(),
                ("redrive_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("target_queue", models.CharField(max_length=100, null=True)),
                ("rate_per_second", models.IntegerField(null=True)),
                ("tokens", models.FloatField(db_default=0.0)),
                ("burst_tokens", models.FloatField(db_default=0.0)),
                ("refilled_at", models.DateTimeField(null=True)),
                ("moved", models.BigIntegerField(db_default=0)),
                ("canaries", models.JSONField(db_default=[])),
                ("failed_in_row", models.BigIntegerField(db_default=0)),
                ("failed_new", models.BigIntegerField(db_default=0)),
                ("failed_same", models.BigIntegerField(db_default=0)),
                ("gone", models.BigIntegerField(db_default=0)),
                ("looked_after", models.BigIntegerField(db_default=0)),
                ("looked_at", models.DateTimeField(null=True)),
                ("note", models.CharField(db_default="", max_length=500)),
                ("options", models.JSONField(db_default={})),
                ("skipped_why", models.JSONField(db_default={})),
                ("slow_memory", models.JSONField(db_default={})),
                ("slowed_rate", models.FloatField(null=True)),
                ("step_began", models.JSONField(db_default={})),
                ("step_limit", models.BigIntegerField(null=True)),
                ("stopped_because", models.CharField(db_default="", max_length=500)),
                ("succeeded", models.BigIntegerField(db_default=0)),
                ("watching", models.BooleanField(db_default=False)),
                (
                    "plan",
                    models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="redrives", to="dlq.plan"),
                ),
                *approval_fields(),
                (
                    "staging",
                    models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="redrives", to="dlq.staging"),
                ),
            ],
            options={
                "db_table": "redrive",
                "indexes": [
                    *job_indexes("redrive"),
                    models.Index(
                        condition=models.Q(("watching", True)), fields=["redrive_id"], name="redrive_watching"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("rate_per_second__range", (1, 5000))), name="redrive_rate"
                    ),
                    *job_constraints("redrive"),
                ],
            },
        ),
        # Deletions of dead letters, by filter.
        migrations.CreateModel(
            name="Deletion",
            fields=[
                *job_fields(),
                *selection_fields(),
                ("deletion_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("deleted", models.BigIntegerField(db_default=0)),
                ("trash_batch_id", models.BigIntegerField(null=True)),
                ("trash_hours", models.IntegerField(db_default=0)),
                *approval_fields(),
            ],
            options={
                "db_table": "deletion",
                "indexes": job_indexes("deletion"),
                "constraints": job_constraints("deletion"),
            },
        ),
        # Purges of a queue's messages, by state.
        migrations.CreateModel(
            name="Purge",
            fields=[
                *job_fields(),
                ("purge_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("queue_name", models.CharField(max_length=100)),
                ("states", models.JSONField()),
                ("through_message_id", models.BigIntegerField()),
                ("through_dead_letter_id", models.BigIntegerField()),
                ("purged", models.BigIntegerField(db_default=0)),
                ("trash_batch_id", models.BigIntegerField(null=True)),
                ("trash_hours", models.IntegerField(db_default=0)),
                *approval_fields(),
            ],
            options={
                "db_table": "purge",
                "indexes": [
                    *job_indexes("purge"),
                    models.Index(fields=["queue_name", "-purge_id"], name="purge_queue"),
                ],
                "constraints": job_constraints("purge"),
            },
        ),
        # Undos: they restore what a purge or a deletion moved to the trash.
        migrations.CreateModel(
            name="Undo",
            fields=[
                *job_fields(),
                ("undo_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("trash_batch_id", models.BigIntegerField()),
                ("undoes_noun", models.CharField(max_length=20)),
                ("undoes_id", models.BigIntegerField()),
                ("queue_name", models.CharField(db_default="", max_length=100)),
                ("cursor_position", models.BigIntegerField(db_default=-1)),
                ("cursor_message_id", models.BigIntegerField(db_default=-1)),
                ("restored", models.BigIntegerField(db_default=0)),
                ("skipped", models.BigIntegerField(db_default=0)),
                *approval_fields(),
            ],
            options={
                "db_table": "undo",
                "indexes": [*job_indexes("undo"), models.Index(fields=["trash_batch_id"], name="undo_trash_batch")],
                "constraints": job_constraints("undo"),
            },
        ),
        # Erasures: they remove a value wherever it is kept. The row has the value only while the job runs.
        migrations.CreateModel(
            name="Erasure",
            fields=[
                ("part", models.CharField(max_length=10)),
                ("path", models.CharField(max_length=200)),
                ("value", models.TextField(db_default="")),
                ("value_digest", models.CharField(max_length=16)),
                (
                    "live",
                    models.CharField(
                        choices=[("hold", "Hold"), ("redact", "Redact"), ("delete", "Delete")],
                        db_default="hold",
                        max_length=10,
                    ),
                ),
                ("only_counts", models.BooleanField(db_default=False)),
                ("queue_names", models.JSONField(db_default=[])),
                ("queue_ids", models.JSONField(null=True)),
                ("tenant_name", models.CharField(db_default="", max_length=100)),
                ("since", models.DateTimeField(null=True)),
                ("until", models.DateTimeField(null=True)),
                ("through_message_id", models.BigIntegerField()),
                ("through_dead_letter_id", models.BigIntegerField()),
                ("rows_per_second", models.IntegerField(db_default=20000)),
                ("slice_rows", models.IntegerField(db_default=1000)),
                ("place", models.CharField(db_default="", max_length=30)),
                ("cursor", models.JSONField(db_default=[])),
                ("looked", models.BigIntegerField(db_default=0)),
                ("found", models.BigIntegerField(db_default=0)),
                ("places", models.JSONField(db_default={})),
                ("states", models.JSONField(db_default={})),
                ("became", models.JSONField(db_default={})),
                ("remarks", models.JSONField(db_default={})),
                ("note", models.CharField(db_default="", max_length=500)),
                *job_fields(),
                *approval_fields(),
                ("erasure_id", models.BigAutoField(primary_key=True, serialize=False)),
            ],
            options={
                "db_table": "erasure",
                "indexes": job_indexes("erasure"),
                "constraints": [
                    *job_constraints("erasure"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("value", ""),
                            models.Q(("state__in", ["done", "cancelled", "failed"]), _negated=True),
                            _connector="OR",
                        ),
                        name="erasure_forgets",
                    ),
                ],
            },
        ),
    ]
