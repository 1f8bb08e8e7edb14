"""Settings of a Django project that has Signalbox's task backend and nothing else of ours."""

import os

from psycopg.conninfo import conninfo_to_dict

_database = conninfo_to_dict(os.environ["DATABASE_URL"])

SECRET_KEY = "of a test"
USE_TZ = True
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _database["dbname"],
        "USER": _database.get("user", ""),
        "HOST": _database.get("host", ""),
        "PORT": str(_database.get("port", "")),
        "PASSWORD": _database.get("password", ""),
    }
}
TASKS = {"default": {"BACKEND": "signalbox.django_tasks.SignalboxBackend", "QUEUES": []}}
