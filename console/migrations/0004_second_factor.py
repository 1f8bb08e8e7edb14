"""Codes beside passwords."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("console", "0003_grants"),
    ]

    operations = [
        migrations.CreateModel(
            name="SecondFactor",
            fields=[
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="second_factor",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("secret", models.CharField(max_length=64)),
                ("confirmed", models.BooleanField(db_default=False)),
                (
                    "last_step",
                    models.BigIntegerField(
                        db_default=0, help_text="Of the code that was used last: none is taken twice."
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "console_second_factor"},
        ),
    ]
