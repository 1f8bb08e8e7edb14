"""What requests with an Idempotency-Key were answered, for a day."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0001_api_keys"),
    ]

    operations = [
        migrations.CreateModel(
            name="IdempotentRequest",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "api_key_id", "idempotency_key", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("api_key_id", models.BigIntegerField()),
                ("idempotency_key", models.CharField(max_length=255)),
                ("request_hash", models.BinaryField()),
                ("status", models.SmallIntegerField()),
                ("headers", models.JSONField()),
                ("content", models.BinaryField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "idempotent_request",
                "indexes": [models.Index(fields=["created_at"], name="idempotent_request_age")],
            },
        ),
    ]
