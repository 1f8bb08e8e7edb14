"""The console's app: registers its signals and keeps its roles."""

from __future__ import annotations

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_migrate


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        from console.access import reauthentication, roles

        user_logged_in.connect(reauthentication.note_login, dispatch_uid="console.access.reauthentication")
        post_migrate.connect(roles.create_groups, sender=self)
