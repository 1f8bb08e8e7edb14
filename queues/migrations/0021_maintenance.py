"""Maintenance: one row while the installation is held still."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queues", "0020_promotions")]

    operations = [
        migrations.CreateModel(
            name="Maintenance",
            fields=[
                ("maintenance_id", models.SmallIntegerField(db_default=1, primary_key=True, serialize=False)),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("started_by", models.CharField(max_length=150)),
                ("reason", models.CharField(max_length=500)),
                ("until", models.DateTimeField(null=True)),
                ("holds_claims", models.BooleanField()),
                ("refuses_sends", models.BooleanField()),
            ],
            options={
                "db_table": "maintenance",
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("maintenance_id", 1)), name="maintenance_is_one")
                ],
            },
        ),
    ]
