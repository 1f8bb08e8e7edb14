"""Erasures: what has a value at a path, erased wherever it is kept. The value is in the row only while the job runs."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dlq", "0007_staging"),
    ]

    operations = [
        migrations.CreateModel(
            name="Erasure",
            fields=[
                ("part", models.CharField(max_length=10)),
                ("path", models.CharField(max_length=200)),
                ("value", models.TextField(db_default="", help_text="Empty once the job is over.")),
                (
                    "value_digest",
                    models.CharField(help_text="Of path and value, under a key: the same for the same.", max_length=16),
                ),
                (
                    "live",
                    models.CharField(
                        choices=[("hold", "Hold"), ("redact", "Redact"), ("delete", "Delete")],
                        db_default="hold",
                        max_length=10,
                    ),
                ),
                ("only_counts", models.BooleanField(db_default=False, help_text="It looks, and changes nothing.")),
                ("queue_names", models.JSONField(db_default=[], help_text="Empty: all.")),
                ("queue_ids", models.JSONField(help_text="As of the beginning.", null=True)),
                ("tenant_name", models.CharField(db_default="", max_length=100)),
                ("since", models.DateTimeField(help_text="Of what was sent from then on.", null=True)),
                ("until", models.DateTimeField(null=True)),
                ("through_message_id", models.BigIntegerField()),
                ("through_dead_letter_id", models.BigIntegerField()),
                ("rows_per_second", models.IntegerField(db_default=20000)),
                (
                    "slice_rows",
                    models.IntegerField(db_default=1000, help_text="So many at a time; it follows how long they take."),
                ),
                (
                    "place",
                    models.CharField(
                        db_default="", help_text="Where it is now; empty: at the beginning.", max_length=30
                    ),
                ),
                ("cursor", models.JSONField(db_default=[], help_text="Up to which key of the place.")),
                ("looked", models.BigIntegerField(db_default=0)),
                ("found", models.BigIntegerField(db_default=0, help_text="Rows that have the value.")),
                ("places", models.JSONField(db_default={}, help_text="For each place what was counted.")),
                ("states", models.JSONField(db_default={}, help_text="Where what was found stood.")),
                ("became", models.JSONField(db_default={}, help_text="What messages are now.")),
                ("remarks", models.JSONField(db_default={}, help_text="What could not be done.")),
                ("note", models.CharField(db_default="", help_text="What it waits for.", max_length=500)),
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
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("started_at", models.DateTimeField(null=True)),
                ("last_batch_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("error", models.TextField(db_default="", help_text="Why the job failed.")),
                (
                    "total_estimate",
                    models.BigIntegerField(db_default=0, help_text="Messages to handle, as of creation."),
                ),
                ("total_is_exact", models.BooleanField(db_default=False, help_text="False: there are more than that.")),
                ("runner", models.UUIDField(null=True)),
                ("lease_expires_at", models.DateTimeField(null=True)),
                (
                    "needs_approval",
                    models.BooleanField(db_default=False, help_text="It touches more than one person may decide."),
                ),
                ("approval_expires_at", models.DateTimeField(null=True)),
                ("approved_by", models.CharField(max_length=150, null=True)),
                ("decided_at", models.DateTimeField(null=True)),
                ("decision_reason", models.CharField(db_default="", max_length=500)),
                ("erasure_id", models.BigAutoField(primary_key=True, serialize=False)),
            ],
            options={
                "db_table": "erasure",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["pending", "running", "paused"])),
                        fields=["state"],
                        name="erasure_active",
                    ),
                    models.Index(
                        condition=models.Q(("state", "awaiting")),
                        fields=["approval_expires_at"],
                        name="erasure_awaiting",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("approved_by", None),
                            models.Q(("approved_by", models.F("created_by")), _negated=True),
                            _connector="OR",
                        ),
                        name="erasure_second_person",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("needs_approval", False),
                            ("approved_by__isnull", False),
                            ("state__in", ["awaiting", "refused", "expired", "cancelled"]),
                            _connector="OR",
                        ),
                        name="erasure_approved",
                    ),
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
