"""Registers the console with Django."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"
