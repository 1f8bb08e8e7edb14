"""Channels for notifications that administrators set up in the console."""

from django.db import migrations, models
from django.db.models.functions import Now

KINDS = [("mail", "Mail"), ("webhook", "Webhook"), ("slack", "Slack")]


class Migration(migrations.Migration):
    dependencies = [("metrics", "0002_acknowledgements")]
    operations = [
        migrations.CreateModel(
            name="AlertChannel",
            fields=[
                ("channel_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(choices=KINDS, max_length=10)),
                ("name", models.CharField(max_length=100, unique=True)),
                ("shown", models.CharField(max_length=2000)),
                ("sealed", models.TextField()),
                ("severities", models.JSONField()),
                ("queue_pattern", models.CharField(db_default="", max_length=100)),
                ("tenant_pattern", models.CharField(db_default="", max_length=100)),
                ("enabled", models.BooleanField()),
                ("version", models.IntegerField(db_default=1)),
                ("changed_by", models.CharField(max_length=150)),
                ("changed_at", models.DateTimeField(db_default=Now())),
                ("last_sent_at", models.DateTimeField(null=True)),
                ("last_error", models.CharField(db_default="", max_length=2000)),
                ("last_error_at", models.DateTimeField(null=True)),
            ],
            options={"db_table": "alert_channel"},
        ),
        migrations.AddField(model_name="notification", name="alert_channel", field=models.BigIntegerField(null=True)),
        migrations.AlterField(
            model_name="notification", name="channel", field=models.CharField(choices=KINDS, max_length=10)
        ),
    ]
