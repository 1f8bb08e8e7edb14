"""The archive's part of an erasure: how far it is, which messages it found, and which files are to go."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipeline", "0005_spark_servers"),
    ]

    operations = [
        migrations.CreateModel(
            name="ArchiveErasure",
            fields=[
                ("erasure_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("begun_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
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
            options={
                "db_table": "pipeline_erasure",
            },
        ),
        migrations.CreateModel(
            name="ErasedMessage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "erasure_id", "message_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("erasure_id", models.BigIntegerField()),
                ("message_id", models.BigIntegerField()),
            ],
            options={
                "db_table": "pipeline_erased_message",
            },
        ),
        migrations.CreateModel(
            name="Discarded",
            fields=[
                ("discarded_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("erasure_id", models.BigIntegerField()),
                ("url", models.TextField()),
                ("path", models.TextField(help_text="Below the url.")),
                ("discarded_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
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
    ]
