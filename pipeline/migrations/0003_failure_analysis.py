"""What the last failure analysis found."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipeline", "0002_rollups"),
    ]

    operations = [
        migrations.AlterField(
            model_name="run",
            name="kind",
            field=models.CharField(
                choices=[("archive", "Archive"), ("rollup", "Rollup"), ("analyse", "Analysis")],
                db_default="archive",
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="Comparison",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "cause", "queue_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("cause", models.TextField(help_text="A fingerprint, or that of the cluster it was merged into.")),
                ("queue_id", models.IntegerField()),
                ("failures", models.BigIntegerField()),
                ("failures_unread", models.BigIntegerField(help_text="Too large to be looked at.")),
                ("successes", models.BigIntegerField()),
                ("successes_unread", models.BigIntegerField()),
                ("tests", models.BigIntegerField(help_text="How many things were compared.")),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="comparisons", to="pipeline.run"
                    ),
                ),
            ],
            options={
                "db_table": "pipeline_comparison",
            },
        ),
        migrations.CreateModel(
            name="Finding",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "cause", "queue_id", "place", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("cause", models.TextField()),
                ("queue_id", models.IntegerField()),
                ("place", models.IntegerField(help_text="From 1, the strongest.")),
                ("path", models.JSONField(help_text="Part, then keys; null is any element of a list.")),
                ("kind", models.CharField(help_text="See pipeline.analysis.features.", max_length=10)),
                ("value", models.TextField()),
                ("failures_with", models.BigIntegerField()),
                ("successes_with", models.BigIntegerField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="findings", to="pipeline.run"
                    ),
                ),
            ],
            options={
                "db_table": "pipeline_finding",
            },
        ),
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
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="templates", to="pipeline.run"
                    ),
                ),
            ],
            options={
                "db_table": "pipeline_template",
                "indexes": [models.Index(fields=["-failures", "template"], name="pipeline_template_failures")],
            },
        ),
    ]
