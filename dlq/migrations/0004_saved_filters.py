import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dlq", "0003_trash")]

    operations = [
        migrations.CreateModel(
            name="SavedFilter",
            fields=[
                ("saved_filter_id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "page",
                    models.CharField(
                        choices=[("dead-letters", "Dead Letters"), ("messages", "Messages")], max_length=20
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("text", models.CharField(max_length=2000)),
                ("owner", models.CharField(max_length=150)),
                ("shared", models.BooleanField(db_default=False)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("updated_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "saved_filter",
                "indexes": [models.Index(fields=["page", "name"], name="saved_filter_page")],
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "page", "name"), name="saved_filter_name"),
                ],
            },
        ),
    ]
