"""The backend in the place of Django's default one, with queues of a test's own, and a worker's steps one at a time."""

from __future__ import annotations

import itertools
import uuid

import pytest

from signalbox import Client
from signalbox.django_tasks import run
from signalbox.worker.handlers.outcomes import outcome_of

BACKEND = "signalbox.django_tasks.SignalboxBackend"
_run = uuid.uuid4().hex[:6]
_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def backend(settings, commits):
    """Every test commits, and its tasks are messages."""
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": []}}


@pytest.fixture
def client(dsn):
    with Client(dsn) as client:
        yield client


@pytest.fixture
def make_queue(client):
    def make(**options):
        name = f"tasks-{_run}-{next(_numbers)}"
        client.create_queue(name, options)
        return name

    return make


@pytest.fixture
def queue(make_queue):
    return make_queue()


@pytest.fixture
def work(client):
    """Receive one task, run it and settle it as a worker does; what it returned or raised."""

    def step(queue, consumer="worker-1"):
        (message,) = client.receive(queue, consumer=consumer)
        try:
            value = run(message)
        except BaseException as error:
            outcome = outcome_of(error)
            reason = "rejected" if outcome.kind == "rejected" else "runtime_error"
            client.nack(
                message,
                delay_seconds=0,
                reason=reason,
                error_class=outcome.error_class,
                error=outcome.error,
                details=outcome.details,
            )
            return error
        client.ack(message, result=value)
        return value

    return step


@pytest.fixture
def heard():
    """The signals that were sent: (name, id, status)."""
    from signalbox.django_tasks import interface

    seen = []
    names = ("task_enqueued", "task_started", "task_finished")

    def listener(name):
        return lambda sender, task_result, **_: seen.append((name, task_result.id, str(task_result.status)))

    listeners = {name: listener(name) for name in names}
    for name in names:
        getattr(interface, name).connect(listeners[name])
    yield seen
    for name in names:
        getattr(interface, name).disconnect(listeners[name])
