"""The canary of a redrive: its size, its verdict, and how long steps wait for outcomes."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dlq", "0002_jobs")]

    operations = [
        migrations.AddField("redrive", "canary", models.JSONField(db_default={})),
    ]
