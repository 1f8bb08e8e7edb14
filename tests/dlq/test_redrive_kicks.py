"""Kicks and sweeps: who hears of a job, and when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from dlq import deletions, redrives, tasks
from dlq.finding import database_now
from dlq.models import Redrive
from dlq.runner import Ending
from dlq.selecting import newest_id
from tests.dlq.graveyards import Graveyard

Sent = list[tuple[str, int]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The tasks that were sent instead of sending them: their names and the ids of their jobs."""
    found: Sent = []

    def send(name: str, args: list[int], **_: Any) -> None:
        found.append((name, args[0]))

    monkeypatch.setattr(current_app._get_current_object(), "send_task", send)
    return found


def start(graveyard: Graveyard) -> Redrive:
    return redrives.create(graveyard.filter, newest_id(), actor="ann", reason="")


def swept(sent: Sent, redrive: Redrive) -> bool:
    sent.clear()
    tasks.sweep()
    return ("dlq.redrive", redrive.pk) in sent


def test_a_new_job_is_announced_once_it_is_committed(graveyard: Graveyard, sent: Sent) -> None:
    with transaction.atomic():
        redrive = start(graveyard)
        assert sent == []

    assert sent == [("dlq.redrive", redrive.pk)]


def test_every_kind_of_job_has_its_task(graveyard: Graveyard, sent: Sent) -> None:
    deletion = deletions.create(graveyard.filter, newest_id(), actor="ann", reason="")

    assert sent == [("dlq.deletion", deletion.pk)]
    assert {f"dlq.{model.NOUN}" for model in tasks.JOB_MODELS} <= set(current_app.tasks)


def test_a_broker_out_of_reach_does_not_stop_anybody(graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(current_app._get_current_object(), "send_task", fail)

    assert start(graveyard).state == "pending"


def test_a_slice_that_ran_out_of_time_asks_for_the_next(
    graveyard: Graveyard, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    redrive = start(graveyard)
    for ending, asks in [(Ending.MORE, True), (Ending.OVER, False), (Ending.STOPPED, False), (Ending.TAKEN, False)]:
        sent.clear()
        monkeypatch.setattr(redrives, "run_slice", lambda _, ending=ending: ending)
        tasks.run_redrive(redrive.pk)
        assert sent == ([("dlq.redrive", redrive.pk)] if asks else [])


def test_a_sweep_finds_what_nobody_runs(graveyard: Graveyard, sent: Sent) -> None:
    redrive = start(graveyard)
    job = Redrive.objects.filter(pk=redrive.pk)

    assert swept(sent, redrive)
    job.update(state="running", lease_expires_at=database_now() + timedelta(minutes=1))
    assert not swept(sent, redrive)
    job.update(lease_expires_at=database_now() - timedelta(seconds=1))
    assert swept(sent, redrive)


@pytest.mark.parametrize("state", ["paused", "cancelled", "done", "failed"])
def test_a_sweep_passes_over_what_is_not_to_be_run(graveyard: Graveyard, sent: Sent, state: str) -> None:
    redrive = start(graveyard)
    Redrive.objects.filter(pk=redrive.pk).update(state=state)

    assert not swept(sent, redrive)


def test_resuming_announces_the_job_again(graveyard: Graveyard, sent: Sent) -> None:
    redrive = start(graveyard)
    redrives.pause(redrive.pk, actor="ann")
    sent.clear()

    redrives.resume(redrive.pk, actor="ann")

    assert sent == [("dlq.redrive", redrive.pk)]
