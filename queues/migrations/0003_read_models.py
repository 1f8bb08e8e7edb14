"""Models that read the engine's tables and views. Django neither creates nor changes those.

Their state is that of the code: a column that a model gains or loses needs no migration of Django's.
"""

from django.apps import apps
from django.db import migrations
from django.db.migrations.state import ModelState


class Migration(migrations.Migration):
    dependencies = [("queues", "0002_engine")]
    operations = [
        migrations.CreateModel(state.name, list(state.fields.items()), state.options)
        for state in map(ModelState.from_model, apps.get_app_config("queues").get_models())
        if not state.options.get("managed", True)
    ]
