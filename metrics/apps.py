"""Registers the metrics with Django."""

from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "metrics"
