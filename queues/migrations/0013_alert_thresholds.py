"""More of what a queue's alerts are measured against."""

from django.db import migrations, models

DEFAULTS = {
    "alert_dead_letters_per_minute": 10.0,
    "alert_no_consumers_seconds": 60.0,
    "alert_drain_seconds": 3_600.0,
    "alert_lease_age_seconds": 3_600.0,
    "alert_redelivery_ratio": 0.5,
}


class Migration(migrations.Migration):
    dependencies = [("queues", "0012_durations")]
    operations = [
        migrations.AddField("queue", name, models.FloatField(db_default=default)) for name, default in DEFAULTS.items()
    ]
