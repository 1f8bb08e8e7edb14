"""Jobs that people start never wait behind runs of the pipeline: each has a Celery queue of its own."""

from __future__ import annotations

import pytest
from celery import current_app
from django.conf import settings

from console.management.commands.demo import _parts
from dlq.tasks import TASKS
from pipeline import tasks as pipeline_tasks
from queues.reach import SYSTEM_QUEUES

JOBS = [*(f"dlq.{noun}" for noun in TASKS), "dlq.sweep", "dlq.outcomes"]
RUNS = [f"pipeline.{verb}" for verb in ("run", "archive", "rollup", "analyse", "erase")]


def queue_of(task: str) -> str:
    name: str = current_app.amqp.router.route({}, task)["queue"].name
    return name


@pytest.mark.parametrize("task", JOBS)
def test_a_job_goes_to_the_queue_of_a_plain_worker(task: str) -> None:
    assert queue_of(task) == settings.CELERY_TASK_DEFAULT_QUEUE


@pytest.mark.parametrize("task", RUNS)
def test_a_run_goes_to_the_queue_of_the_pipeline(task: str) -> None:
    assert hasattr(pipeline_tasks, task.removeprefix("pipeline."))
    assert queue_of(task) == settings.PIPELINE_QUEUE


def test_both_queues_are_reserved_for_the_system_tenant() -> None:
    assert {settings.CELERY_TASK_DEFAULT_QUEUE, settings.PIPELINE_QUEUE} == SYSTEM_QUEUES


def test_the_demo_starts_a_worker_for_each_queue() -> None:
    commands = {part.name: list(part.command) for part in _parts([])}

    assert "-Q" not in commands["jobs"]
    assert commands["pipeline"][commands["pipeline"].index("-Q") + 1] == settings.PIPELINE_QUEUE
