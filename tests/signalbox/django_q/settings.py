"""Settings of a Django project on django-q, in a schema of its own; `BROKER_CLASS` is what the guide changes."""

import os

from psycopg.conninfo import conninfo_to_dict

_database = conninfo_to_dict(os.environ["SHOP_DSN"])

SECRET_KEY = "of a test"
USE_TZ = True
INSTALLED_APPS = ["django.contrib.contenttypes", "django_q"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _database["dbname"],
        "USER": _database.get("user", ""),
        "PASSWORD": _database.get("password", ""),
        "HOST": _database.get("host", ""),
        "PORT": str(_database.get("port", "")),
        "OPTIONS": {"options": "-c search_path=django_q_guide,public"},
    }
}
_broker = {"broker_class": os.environ["BROKER_CLASS"]} if "BROKER_CLASS" in os.environ else {"orm": "default"}
Q_CLUSTER = {
    **_broker,
    "name": "shop",
    "workers": 1,
    "bulk": 5,
    "poll": 0.05,
    "guard_cycle": 0.1,
    "timeout": 20,
    "retry": 21,
    "catch_up": False,
}
