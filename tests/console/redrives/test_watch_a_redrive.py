"""A job that waits says why: which jobs run before it, or that no worker runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlq.jobs.models import Redrive
from dlq.trash import purges
from queues.dead_letters.ids import newest_id
from tests.console.browsers import Browser
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive
from tests.engine import Engine


@pytest.fixture
def job_queue(engine: Engine) -> Engine:
    """The queue of jobs, without a worker."""
    queue_id = engine.value("select signalbox.declare_queue('signalbox', '{}', 'system')")
    engine.connection.execute("delete from signalbox.consumer where queue_id = %s", [queue_id])
    return Engine(engine.connection, "signalbox", queue_id)


@pytest.fixture
def no_jobs(engine: Engine) -> None:
    Redrive.objects.filter(state__in=["pending", "running"]).update(state="cancelled")


def worker(job_queue: Engine, seconds_ago: int = 0) -> None:
    job_queue.connection.execute(
        "insert into signalbox.consumer values (%s, 'jobs:1', clock_timestamp() - %s * interval '1 second', '{}')",
        [job_queue.queue_id, seconds_ago],
    )


def start(scene: DeadLetterScene) -> Redrive:
    return create_redrive(scene.filter, newest_id(), actor="ann", reason="r")


def running(scene: DeadLetterScene) -> Redrive:
    job = start(scene)
    Redrive.objects.filter(pk=job.pk).update(state="running", lease_expires_at=timezone.now() + timedelta(minutes=1))
    return job


def test_a_job_without_a_worker_says_that_none_runs(
    viewer: Browser, scene: DeadLetterScene, job_queue: Engine, no_jobs: None
) -> None:
    scene.add_dead(1)
    job = start(scene)

    for gone in (None, 40):
        if gone:
            worker(job_queue, gone)
        page = viewer.see(f"/redrives/{job.pk}")
        assert "No job worker is running. Start one with: celery -A console worker" in page.text


def test_a_job_behind_others_says_behind_how_many(
    viewer: Browser, scene: DeadLetterScene, job_queue: Engine, no_jobs: None
) -> None:
    scene.add_dead(1)
    worker(job_queue)
    job = start(scene)
    purge = purges.create(
        scene.queue, ["ready"], purges.preview(scene.queue, ["ready"]).bounds, scene.queue, actor="ann", reason="r"
    )

    assert "Waiting for a job worker." in viewer.see(f"/redrives/{job.pk}").text
    others = [running(scene), running(scene)]

    assert "Queued behind 2 running jobs." in viewer.see(f"/redrives/{job.pk}").text
    assert "Queued behind 2 running jobs." in viewer.see(f"/purges/{purge.pk}").text
    assert "Queued behind" not in viewer.see(f"/redrives/{others[0].pk}").text


def test_behind_another_broker_a_late_job_names_the_command(
    viewer: Browser, scene: DeadLetterScene, no_jobs: None, settings: Any
) -> None:
    settings.BROKER_IS_DATABASE = False
    scene.add_dead(1)
    job = start(scene)

    assert "Waiting for a job worker." in viewer.see(f"/redrives/{job.pk}").text
    Redrive.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(minutes=1))

    assert "No job worker has taken this job. Start one with" in viewer.see(f"/redrives/{job.pk}").text
