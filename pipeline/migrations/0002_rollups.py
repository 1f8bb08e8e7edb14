"""Hours and days of what was archived, and which runs they have taken in."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipeline", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Rollup",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "scope", "seconds", "bucket_at", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
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
            options={
                "db_table": "pipeline_rollup",
            },
        ),
        migrations.CreateModel(
            name="Sent",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "scope", "bucket_at", "run_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("scope", models.IntegerField()),
                ("bucket_at", models.DateTimeField()),
                ("run", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="pipeline.run")),
                ("messages", models.BigIntegerField()),
            ],
            options={
                "db_table": "pipeline_sent",
            },
        ),
        migrations.RemoveConstraint(
            model_name="run",
            name="pipeline_run_one_at_a_time",
        ),
        migrations.AddField(
            model_name="run",
            name="kind",
            field=models.CharField(
                choices=[("archive", "Archive"), ("rollup", "Rollup")], db_default="archive", max_length=10
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="outcome",
            field=models.JSONField(db_default={}, help_text="What came of it, for people."),
        ),
        migrations.AddField(
            model_name="run",
            name="taken_in_by",
            field=models.ForeignKey(
                help_text="The rollup that has its files.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="took_in",
                to="pipeline.run",
            ),
        ),
        migrations.AlterField(
            model_name="run",
            name="high",
            field=models.BigIntegerField(help_text="The first transaction after its window.", null=True),
        ),
        migrations.AlterField(
            model_name="run",
            name="low",
            field=models.BigIntegerField(help_text="The first transaction of its window.", null=True),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "running")), fields=("kind",), name="pipeline_run_one_of_a_kind"
            ),
        ),
    ]
