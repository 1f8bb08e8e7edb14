"""Runs that stage what is to be sent again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipeline", "0003_failure_analysis"),
    ]

    operations = [
        migrations.AlterField(
            model_name="run",
            name="kind",
            field=models.CharField(
                choices=[("archive", "Archive"), ("rollup", "Rollup"), ("replay", "Replay"), ("analyse", "Analysis")],
                db_default="archive",
                max_length=10,
            ),
        ),
    ]
