"""Install the SQL verbs after every run of migrations."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class QueuesConfig(AppConfig):
    name = "queues"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from queues.database import checks  # noqa: F401 - registers them

        post_migrate.connect(_install_scripts, sender=self)


def _install_scripts(using: str, **_: Any) -> None:
    from django.db import connections

    from queues.database import sql_scripts

    sql_scripts.install(connections[using])
