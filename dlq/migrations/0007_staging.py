"""What was chosen from the archive to be sent again, and which plans and redrives are of that."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dlq", "0006_approvals"),
    ]

    operations = [
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
                ("part", models.IntegerField(help_text="Which task wrote it.")),
                ("kind", models.TextField()),
                ("queue", models.TextField(null=True)),
                ("tenant", models.TextField(null=True)),
                ("ended_at", models.DateTimeField()),
                (
                    "outcome",
                    models.TextField(help_text="How it ended; of a dead letter the error's class or the reason."),
                ),
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
            options={
                "db_table": "staged_message",
            },
        ),
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
                ("token", models.CharField(help_text="Of the attempt that may write.", max_length=32)),
                ("kinds", models.JSONField(db_default=[], help_text="Folders of the archive.")),
                ("since", models.DateTimeField(help_text="Of what ended from then on.", null=True)),
                ("until", models.DateTimeField(null=True)),
                ("run_id", models.BigIntegerField(help_text="The pipeline's run that staged it.", null=True)),
                ("rows", models.BigIntegerField(db_default=0)),
                (
                    "bytes",
                    models.BigIntegerField(db_default=0, help_text="Of payloads and attributes, as they are staged."),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "expires_at",
                    models.DateTimeField(help_text="From then on what is left of it is cleared away.", null=True),
                ),
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
        migrations.AddField(
            model_name="plan",
            name="staging",
            field=models.ForeignKey(
                help_text="Empty: it selects dead letters.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="plans",
                to="dlq.staging",
            ),
        ),
        migrations.AddField(
            model_name="redrive",
            name="staging",
            field=models.ForeignKey(
                help_text="Of what it takes; empty: dead letters.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="redrives",
                to="dlq.staging",
            ),
        ),
    ]
