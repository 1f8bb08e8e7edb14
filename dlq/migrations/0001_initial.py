"""Saved filters, failure groups, masking rules, and the plans that jobs are made from."""

from __future__ import annotations

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        # Filters that people saved under a name.
        migrations.CreateModel(
            name="SavedFilter",
            fields=[
                ("saved_filter_id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "page",
                    models.CharField(
                        choices=[("dead-letters", "Dead Letters"), ("messages", "Messages")], max_length=20
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("text", models.CharField(max_length=2000)),
                ("owner", models.CharField(max_length=150)),
                ("shared", models.BooleanField(db_default=False)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("updated_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "saved_filter",
                "indexes": [models.Index(fields=["page", "name"], name="saved_filter_page")],
                "constraints": [models.UniqueConstraint(fields=("owner", "page", "name"), name="saved_filter_name")],
            },
        ),
        # Notes about failure groups: owner, runbook and state.
        migrations.CreateModel(
            name="GroupNote",
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
            options={"db_table": "failure_group_note"},
        ),
        # Failure groups that were merged: `head` is the fingerprint that stands for the others.
        migrations.CreateModel(
            name="GroupMember",
            fields=[
                ("fingerprint", models.TextField(primary_key=True, serialize=False)),
                ("head", models.TextField(db_index=True)),
                ("merged_at", models.DateTimeField(db_default=Now())),
                ("merged_by", models.CharField(max_length=150)),
            ],
            options={"db_table": "failure_group_member"},
        ),
        # Masking rules: fields of payloads and attributes that only people with the right to reveal may read.
        migrations.CreateModel(
            name="MaskingRule",
            fields=[
                ("masking_rule_id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "part",
                    models.CharField(choices=[("payload", "Payload"), ("attributes", "Attributes")], max_length=10),
                ),
                ("path", models.CharField(max_length=200)),
                ("queue_name", models.CharField(db_default="", max_length=100)),
                ("tenant_name", models.CharField(db_default="", max_length=100)),
                ("created_by", models.CharField(max_length=150)),
                ("created_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "masking_rule",
                "ordering": ("queue_name", "tenant_name", "part", "path"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("queue_name", "tenant_name", "part", "path"), name="masking_rule_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("queue_name", ""), ("tenant_name", ""), _connector="OR"),
                        name="masking_rule_scope",
                    ),
                ],
            },
        ),
        # Stagings: messages chosen from the archive to be sent again, until they are cleared.
        migrations.CreateModel(
            name="Staging",
            fields=[
                ("staging_id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("filling", "Filling"),
                            ("frozen", "Frozen"),
                            ("clearing", "Clearing"),
                            ("gone", "Gone"),
                        ],
                        db_default="filling",
                        max_length=10,
                    ),
                ),
                ("token", models.CharField(max_length=32)),
                ("kinds", models.JSONField(db_default=[])),
                ("since", models.DateTimeField(null=True)),
                ("until", models.DateTimeField(null=True)),
                ("run_id", models.BigIntegerField(null=True)),
                ("rows", models.BigIntegerField(db_default=0)),
                ("bytes", models.BigIntegerField(db_default=0)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("expires_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "staging",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "gone"), _negated=True),
                        fields=["expires_at"],
                        name="staging_not_gone",
                    )
                ],
            },
        ),
        # Messages of a staging. Payload and attributes are text until they are sent.
        migrations.CreateModel(
            name="StagedMessage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "staging_id", "message_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("staging_id", models.BigIntegerField()),
                ("message_id", models.BigIntegerField()),
                ("part", models.IntegerField()),
                ("kind", models.TextField()),
                ("queue", models.TextField(null=True)),
                ("tenant", models.TextField(null=True)),
                ("ended_at", models.DateTimeField()),
                ("outcome", models.TextField()),
                ("fingerprint", models.TextField(null=True)),
                ("receive_count", models.SmallIntegerField(null=True)),
                ("payload", models.TextField()),
                ("attributes", models.TextField(null=True)),
                ("group_id", models.TextField(null=True)),
                ("deduplication_id", models.TextField(null=True)),
                ("trace_id", models.TextField(null=True)),
                ("priority", models.SmallIntegerField()),
                ("sent_at", models.DateTimeField(null=True)),
                ("body_sha256", models.BinaryField(null=True)),
                ("body_bytes", models.BigIntegerField(null=True)),
            ],
            options={"db_table": "staged_message"},
        ),
        # Plans: what a redrive or a deletion would touch, counted and sampled before anything is changed.
        migrations.CreateModel(
            name="Plan",
            fields=[
                ("plan_id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("redrive", "Redrive"), ("deletion", "Deletion")], db_default="redrive", max_length=10
                    ),
                ),
                ("filter_text", models.TextField(db_default="")),
                ("as_of", models.DateTimeField()),
                ("lower_bound", models.BigIntegerField()),
                ("upper_bound", models.BigIntegerField()),
                ("count", models.BigIntegerField(db_default=0)),
                ("count_is_exact", models.BooleanField(db_default=False)),
                ("impact_document", models.JSONField(db_column="impact", db_default={})),
                ("sample_ids", models.JSONField(db_default=[])),
                ("options", models.JSONField(db_default={})),
                ("created_by", models.CharField(max_length=150)),
                ("reason", models.CharField(db_default="", max_length=500)),
                ("created_at", models.DateTimeField(db_default=Now())),
                (
                    "staging",
                    models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="plans", to="dlq.staging"),
                ),
            ],
            options={"db_table": "plan"},
        ),
    ]
