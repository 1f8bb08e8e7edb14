import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipeline", "0006_erasures"),
    ]

    operations = [
        migrations.CreateModel(
            name="RunRequest",
            fields=[
                ("request_id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("archive", "Archive"),
                            ("rollup", "Rollup"),
                            ("replay", "Replay"),
                            ("analyse", "Analysis"),
                        ],
                        max_length=10,
                    ),
                ),
                ("arguments", models.JSONField(db_default={}, help_text="Of a replay: what to choose.")),
                ("requested_by", models.CharField(max_length=150)),
                ("requested_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
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
