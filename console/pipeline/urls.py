"""Addresses of pipeline runs, failure analysis and replay."""

from __future__ import annotations

from django.urls import path

from console.pipeline import failure_findings, replay_views
from console.pipeline import views as pipeline
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("pipeline", pipeline.browse, name="pipeline"),
    path("pipeline/failures", failure_findings.browse, name="failure_analysis"),
    path("pipeline/replay", replay_views.new, name="pipeline_replay"),
    path("pipeline/start/<slug:kind>", pipeline.start, name="pipeline_start"),
    path("pipeline/<row:run_id>", pipeline.show, name="pipeline_run"),
    path("pipeline/<row:run_id>/cancel", pipeline.cancel, name="pipeline_cancel"),
]

register(
    Item(Group.ARCHIVE, 10, "Runs", "pipeline", "runs", ("pipeline",)),
    Item(Group.ARCHIVE, 20, "Replay", "pipeline_replay", "replay", permission="redrive"),
    Item(Group.ARCHIVE, 30, "Failure analysis", "failure_analysis", "analysis"),
)
