"""Kicks and sweeps: who hears of a job, and when."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from celery import current_app
from django.db import transaction
from kombu import Connection
from kombu.exceptions import OperationalError

from dlq import tasks
from dlq.jobs import wakeup
from dlq.jobs.models import Redrive
from dlq.jobs.runner import Ending, Work
from dlq.redrives import redrives
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions
from queues.database.query import database_now
from queues.dead_letters.ids import newest_id
from signalbox import QueueClosed, QuotaExceeded
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive
from tests.engine import Engine

Sent = list[tuple[str, int]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The tasks that were sent instead of sending them: their names and the ids of their jobs."""
    found: Sent = []

    def send(_: str, task: dict[str, Any], **__: Any) -> None:
        found.append((task["task"], task["args"][0]))

    monkeypatch.setattr(wakeup.messages, "send", send)
    return found


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Sent:
    """Settings with a broker outside the database."""
    found: Sent = []

    def send(name: str, args: list[int], **_: Any) -> None:
        found.append((name, args[0]))

    settings.BROKER_IS_DATABASE = False
    monkeypatch.setattr(current_app._get_current_object(), "connection_for_write", lambda **_: Connection("memory://"))
    monkeypatch.setattr(current_app._get_current_object(), "send_task", send)
    return found


@pytest.fixture
def kicks_queue(scene: DeadLetterScene) -> Engine:
    """The queue of kicks, empty."""
    engine = scene.engine
    queue_id = engine.value("select signalbox.declare_queue('signalbox', '{}', 'system')")
    while kicks_of(found := Engine(engine.connection, "signalbox", queue_id)):
        pass
    return found


def kicks_of(engine: Engine) -> list[Any]:
    """Wake-ups that were sent and then removed."""
    rows = engine.receive(100)
    engine.ack(*[row[1] for row in rows])
    return [row[3] for row in rows]


def start(scene: DeadLetterScene) -> Redrive:
    return create_redrive(scene.filter, newest_id(), actor="ann", reason="")


def swept(sent: Sent, redrive: Redrive) -> bool:
    sent.clear()
    tasks.sweep()
    return ("dlq.redrive", redrive.pk) in sent


def test_a_kick_is_sent_if_its_job_is(scene: DeadLetterScene, kicks_queue: Engine) -> None:
    with transaction.atomic():
        start(scene)
        transaction.set_rollback(True)
    assert kicks_of(kicks_queue) == []

    redrive = start(scene)

    [kick] = kicks_of(kicks_queue)
    assert (kick["task"], kick["args"]) == ("dlq.redrive", [redrive.pk])


def test_a_broker_elsewhere_hears_of_a_job_once_it_is_committed(scene: DeadLetterScene, elsewhere: Sent) -> None:
    with transaction.atomic():
        redrive = start(scene)
        assert elsewhere == []

    assert elsewhere == [("dlq.redrive", redrive.pk)]


def test_every_kind_of_job_has_its_task(scene: DeadLetterScene, sent: Sent) -> None:
    deletion = deletions.create(check_filter(scene.filter), newest_id(), actor="ann", reason="")

    assert sent == [("dlq.deletion", deletion.pk)]
    assert {f"dlq.{work.model.NOUN}" for work in tasks.WORKS} <= set(current_app.tasks)


@pytest.mark.parametrize("error", [OperationalError("connection refused"), QuotaExceeded("full")])
def test_a_broker_out_of_reach_does_not_stop_anybody(
    scene: DeadLetterScene, elsewhere: Sent, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(current_app._get_current_object(), "send_task", fail)

    assert start(scene).state == "pending"


def test_a_kick_that_is_refused_does_not_stop_the_job(scene: DeadLetterScene, kicks_queue: Engine) -> None:
    kicks_queue.value("select signalbox.configure_queue('signalbox', '{\"closed\": true}')")
    try:
        redrive = start(scene)
    finally:
        kicks_queue.value("select signalbox.configure_queue('signalbox', '{\"closed\": false}')")

    assert Redrive.objects.get(pk=redrive.pk).state == "pending"
    assert kicks_of(kicks_queue) == []


def test_a_slice_that_ran_out_of_time_asks_for_the_next(
    scene: DeadLetterScene, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    redrive = start(scene)
    for ending, asks in [(Ending.MORE, True), (Ending.OVER, False), (Ending.STOPPED, False), (Ending.TAKEN, False)]:
        sent.clear()
        monkeypatch.setattr(Work, "run_slice", lambda _, job_id, ending=ending: ending)
        tasks.TASKS["redrive"](redrive.pk)
        assert sent == ([("dlq.redrive", redrive.pk)] if asks else [])


def test_a_worker_whose_first_sweep_is_refused_sweeps_later(monkeypatch: pytest.MonkeyPatch) -> None:
    later: list[float] = []
    timer = SimpleNamespace(call_repeatedly=lambda seconds, _: later.append(seconds))
    worker = SimpleNamespace(timer=timer, app=consuming("signalbox"))

    def fail(*_: Any, **__: Any) -> None:
        raise QueueClosed("closed")

    monkeypatch.setattr(tasks.sweep, "apply_async", fail)
    with pytest.raises(QueueClosed):  # the signal logs it
        tasks.sweep_regularly(worker)

    assert later == [tasks.SWEEP_SECONDS]


def test_a_worker_of_the_pipeline_sends_no_sweeps() -> None:
    worker = SimpleNamespace(app=consuming("signalbox-pipeline"))

    tasks.sweep_regularly(worker)  # it has no timer: a sweep would fail


def consuming(queue: str) -> Any:
    """A Celery application whose worker consumes this queue."""
    return SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace(consume_from={queue: None})))


def test_a_sweep_finds_jobs_without_a_worker(scene: DeadLetterScene, sent: Sent) -> None:
    redrive = start(scene)
    job = Redrive.objects.filter(pk=redrive.pk)

    assert swept(sent, redrive)
    job.update(state="running", lease_expires_at=database_now() + timedelta(minutes=1))
    assert not swept(sent, redrive)
    job.update(lease_expires_at=database_now() - timedelta(seconds=1))
    assert swept(sent, redrive)


@pytest.mark.parametrize("state", ["paused", "cancelled", "done", "failed"])
def test_a_sweep_passes_over_what_is_not_to_be_run(scene: DeadLetterScene, sent: Sent, state: str) -> None:
    redrive = start(scene)
    Redrive.objects.filter(pk=redrive.pk).update(state=state)

    assert not swept(sent, redrive)


def test_resuming_announces_the_job_again(scene: DeadLetterScene, sent: Sent) -> None:
    redrive = start(scene)
    redrives.pause(redrive.pk, actor="ann")
    sent.clear()

    redrives.resume(redrive.pk, actor="ann")

    assert sent == [("dlq.redrive", redrive.pk)]
