"""What is removed goes to the trash, and comes back by an undo."""

import django.db.models.functions.datetime
from django.db import migrations, models

STATES = ["pending", "running", "paused", "cancelled", "done", "failed"]


def _trash(model: str) -> list[migrations.AddField]:
    return [
        migrations.AddField(
            model,
            "removal_id",
            models.BigIntegerField(null=True, help_text="The removal of the engine that has them."),
        ),
        migrations.AddField(
            model,
            "trash_hours",
            models.IntegerField(db_default=0, help_text="How long they can be put back; 0 is not at all."),
        ),
    ]


class Migration(migrations.Migration):
    dependencies = [("dlq", "0002_plans")]

    operations = [
        *_trash("deletion"),
        *_trash("purge"),
        migrations.CreateModel(
            name="Undo",
            fields=[
                (
                    "state",
                    models.CharField(
                        choices=[(state, state.capitalize()) for state in STATES], db_default="pending", max_length=10
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
                ("undo_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("removal_id", models.BigIntegerField()),
                ("undoes_noun", models.CharField(max_length=20)),
                ("undoes_id", models.BigIntegerField()),
                ("queue_name", models.CharField(db_default="", max_length=100)),
                ("cursor_turn", models.BigIntegerField(db_default=-1)),
                ("cursor_message_id", models.BigIntegerField(db_default=-1)),
                ("restored", models.BigIntegerField(db_default=0)),
                (
                    "skipped",
                    models.BigIntegerField(db_default=0, help_text="They could not come back, and stay in the trash."),
                ),
            ],
            options={
                "db_table": "undo",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["pending", "running", "paused"])),
                        fields=["state"],
                        name="undo_active",
                    ),
                    models.Index(fields=["removal_id"], name="undo_removal"),
                ],
            },
        ),
    ]
