"""Enqueueing: what is sent, when it is there, and what is refused."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils import timezone

from signalbox import QueueNotFound
from signalbox.django_tasks import SignalboxBackend
from signalbox.django_tasks.backend import engine_priority
from signalbox.django_tasks.interface import InvalidTask, TaskResultStatus, task_backends
from tests.signalbox.django_tasks import tasks
from tests.signalbox.django_tasks.conftest import BACKEND


def backend_with(**params):
    return SignalboxBackend("default", params)


def test_supports_all_that_a_backend_can():
    backend = task_backends["default"]

    assert isinstance(backend, SignalboxBackend)
    assert backend.supports_defer
    assert backend.supports_async_task
    assert backend.supports_get_result
    assert backend.supports_priority


def test_a_task_is_a_message_of_its_queue(client, queue):
    before = timezone.now()
    result = tasks.add.using(queue_name=queue).enqueue(1, b=2)
    assert result == task_backends["default"].get_result(result.id)

    (message,) = client.receive(queue)
    assert message.id == int(result.id)
    assert message.payload["task"] == "tests.signalbox.django_tasks.tasks.add"
    assert (message.payload["args"], message.payload["kwargs"]) == ([1], {"b": 2})
    assert message.attributes["task"] == "tests.signalbox.django_tasks.tasks.add"
    assert result.status == TaskResultStatus.READY
    assert before <= result.enqueued_at <= timezone.now()
    assert (result.args, result.kwargs, result.attempts, result.errors) == ([1], {"b": 2}, 0, [])
    assert result.started_at is result.finished_at is result.last_attempted_at is None


def test_an_asynchronous_enqueue_sends_the_same(client, queue):
    async def enqueue():
        return await tasks.add_later.using(queue_name=queue).aenqueue(1, 2)

    result = asyncio.run(enqueue())

    assert [message.id for message in client.receive(queue)] == [int(result.id)]


def test_what_is_enqueued_in_a_transaction_is_there_when_it_commits(client, queue):
    with transaction.atomic():
        result = tasks.add.using(queue_name=queue).enqueue(1)
        assert client.receive(queue) == []

    assert [message.id for message in client.receive(queue)] == [int(result.id)]


def test_what_is_enqueued_in_a_transaction_that_rolls_back_never_was(client, queue):
    with transaction.atomic():
        result = tasks.add.using(queue_name=queue).enqueue(1)
        transaction.set_rollback(True)

    assert client.receive(queue) == []
    assert client.message_outcome(int(result.id)) is None


def test_a_savepoint_that_rolls_back_takes_its_tasks_along(client, queue):
    with transaction.atomic():
        kept = tasks.add.using(queue_name=queue).enqueue(1)
        point = transaction.savepoint()
        tasks.add.using(queue_name=queue).enqueue(2)
        transaction.savepoint_rollback(point)

    assert [message.id for message in client.receive(queue, 10)] == [int(kept.id)]


def test_run_after_delays_the_message(client, queue):
    at = timezone.now() + timedelta(hours=2)
    result = tasks.add.using(queue_name=queue, run_after=at).enqueue(1)

    assert client.receive(queue) == []
    assert client.message_outcome(int(result.id)).status == "pending"
    stored = task_backends["default"].get_result(result.id)
    assert stored.task.run_after == at
    assert stored.status == TaskResultStatus.READY


def test_run_after_a_time_that_has_passed_is_now(client, queue):
    tasks.add.using(queue_name=queue, run_after=datetime(2020, 1, 1, tzinfo=UTC)).enqueue(1)

    assert len(client.receive(queue)) == 1


def test_a_naive_run_after_is_refused_where_times_are_aware(queue):
    with pytest.raises(InvalidTask, match="aware"):
        tasks.add.using(queue_name=queue, run_after=datetime(2030, 1, 1))  # noqa: DTZ001


def test_a_naive_run_after_is_local_time_where_times_are_naive(client, settings, queue):
    settings.USE_TZ = False
    at = timezone.make_naive(datetime.now(UTC) + timedelta(hours=1))
    result = tasks.add.using(queue_name=queue, run_after=at).enqueue(1)

    assert client.receive(queue) == []
    assert timezone.is_naive(result.enqueued_at)
    assert timezone.is_naive(task_backends["default"].get_result(result.id).enqueued_at)


@pytest.mark.parametrize("priority", [-101, 101, 1.5])
def test_priorities_outside_the_range_are_refused(priority):
    with pytest.raises(InvalidTask, match="priority"):
        tasks.add.using(priority=priority)


def test_priorities_keep_their_order_among_those_of_the_engine():
    mapped = [engine_priority(priority) for priority in range(-100, 101)]

    assert mapped == sorted(mapped)
    assert set(mapped) == set(range(10))
    assert [engine_priority(priority) for priority in (-100, -1, 0, 1, 100)] == [0, 3, 4, 5, 9]


def test_higher_priorities_run_first(client, queue):
    low, high = (tasks.add.using(queue_name=queue, priority=priority).enqueue(1) for priority in (-50, 50))
    middle = tasks.with_priority.using(queue_name=queue).enqueue()

    received = [int(client.receive(queue)[0].id) for _ in range(3)]
    assert received == [int(high.id), int(middle.id), int(low.id)]
    assert task_backends["default"].get_result(middle.id).task.priority == 7


def test_a_queue_that_the_backend_does_not_name_is_refused():
    backend = backend_with(QUEUES=["mail"])
    assert backend.validate_task(tasks.add.using(queue_name="mail")) is None
    with pytest.raises(InvalidTask, match="elsewhere"):
        backend.validate_task(tasks.add.using(queue_name="elsewhere"))


def test_without_queues_named_only_the_default_one_is_allowed():
    with pytest.raises(InvalidTask, match="mail"):
        backend_with().validate_task(tasks.add.using(queue_name="mail"))


def test_a_queue_that_is_not_there_is_an_error():
    with pytest.raises(QueueNotFound, match="no-such-queue"):
        tasks.add.using(queue_name="no-such-queue").enqueue(1)


@pytest.mark.parametrize("argument", [object(), {1, 2}, b"\xff", float("nan")])
def test_arguments_that_are_not_json_are_refused(client, queue, argument):
    with pytest.raises(Exception, match=r"(?i)unsupported|nan"):
        tasks.add.using(queue_name=queue).enqueue(argument)

    assert client.receive(queue) == []


def test_arguments_become_json(queue):
    result = tasks.add.using(queue_name=queue).enqueue((1, 2), b={"x": b"text"})

    assert (result.args, result.kwargs) == ([[1, 2]], {"b": {"x": "text"}})


def test_a_function_that_is_not_at_the_top_of_a_module_is_refused():
    def inner():
        pass

    with pytest.raises(InvalidTask, match="module level"):
        tasks.task(inner)


def test_context_needs_a_first_argument_of_that_name():
    with pytest.raises(InvalidTask, match="context"):
        tasks.task(takes_context=True)(tasks.no_task)


def test_unknown_options_are_named():
    with pytest.raises(ImproperlyConfigured, match="databse"):
        backend_with(OPTIONS={"databse": "default"})


def test_the_check_knows_databases_that_are_not_there_or_not_postgresql(settings):
    assert backend_with().check() == []
    assert [error.id for error in backend_with(OPTIONS={"database": "nowhere"}).check()] == ["signalbox.E001"]


def test_the_backend_is_found_by_its_setting(settings):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": ["a", "b"]}}

    assert task_backends["default"].queues == {"a", "b"}


def test_the_signal_comes_with_the_id(queue, heard):
    result = tasks.add.using(queue_name=queue).enqueue(1)

    assert heard == [("task_enqueued", result.id, "READY")]
