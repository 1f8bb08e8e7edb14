"""Rules of approvals that administrators set in the console."""

from __future__ import annotations

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("dlq", "0005_group_triage")]
    operations = [
        migrations.CreateModel(
            name="ApprovalRule",
            fields=[
                ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("value", models.BigIntegerField()),
                ("changed_at", models.DateTimeField(db_default=Now())),
                ("changed_by", models.CharField(max_length=150)),
            ],
            options={"db_table": "approval_rule"},
        ),
    ]
