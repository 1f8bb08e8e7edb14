"""Registers the console with Django and keeps its roles."""

from __future__ import annotations

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_migrate


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        from console import confirming, roles

        user_logged_in.connect(confirming.note_login, dispatch_uid="console.confirming")
        post_migrate.connect(roles.create_groups, sender=self)
