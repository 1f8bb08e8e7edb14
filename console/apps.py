"""Registers the console with Django and keeps its roles."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        from console import roles

        post_migrate.connect(roles.create_groups, sender=self)
