"""Redrives over the cells of a fleet."""

from __future__ import annotations

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("dlq", "0006_approval_rule")]
    operations = [
        migrations.CreateModel(
            name="FleetRedrive",
            fields=[
                ("fleet_redrive_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("filter_text", models.TextField(db_default="")),
                ("plans", models.JSONField(db_default={})),
                ("left_out", models.JSONField(db_default={})),
                ("created_by", models.CharField(max_length=150)),
                ("reason", models.CharField(db_default="", max_length=500)),
                ("created_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "fleet_redrive"},
        ),
    ]
