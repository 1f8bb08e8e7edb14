"""Registers the pipeline's tables and commands with Django."""

from django.apps import AppConfig


class PipelineConfig(AppConfig):
    name = "pipeline"
    verbose_name = "Data pipeline"

    def ready(self) -> None:
        from pipeline.erasing import outside

        outside.register()
