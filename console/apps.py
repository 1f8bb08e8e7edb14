"""The console's app: registers its signals and keeps its roles."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_migrate


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        from console.access import roles

        user_logged_in.connect(_note_login, dispatch_uid="console.access.reauthentication")
        post_migrate.connect(roles.create_groups, sender=self)


def _note_login(**login: Any) -> None:
    """Record the login. Its module loads the libraries of sign-on, which most commands never need."""
    from console.access import reauthentication

    reauthentication.note_login(**login)
