"""The Django app of the pipeline."""

from django.apps import AppConfig


class PipelineConfig(AppConfig):
    name = "pipeline"
    verbose_name = "Data pipeline"

    def ready(self) -> None:
        from pipeline.erasure import external

        external.register()
