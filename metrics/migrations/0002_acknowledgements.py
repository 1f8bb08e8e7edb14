"""Acknowledgements: the person who works on a firing alert, and since when."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("metrics", "0001_initial")]
    operations = [
        migrations.AddField(
            model_name="alert", name="acknowledged_by", field=models.CharField(db_default="", max_length=150)
        ),
        migrations.AddField(model_name="alert", name="acknowledged_at", field=models.DateTimeField(null=True)),
    ]
