"""Running and results: what a task's result says before, during and after, and what signals tell."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from signalbox.django_tasks import run, run_async
from signalbox.django_tasks.interface import (
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_backends,
)
from signalbox.worker import Reject
from tests.signalbox.django_tasks import tasks
from tests.signalbox.django_tasks.conftest import BACKEND


def enqueue(task, queue, *arguments, **options):
    return task.using(queue_name=queue).enqueue(*arguments, **options)


def test_a_task_that_returns_is_successful(queue, work, heard):
    result = enqueue(tasks.add, queue, 1, b=2)
    assert work(queue) == 3
    result.refresh()

    assert result.status == TaskResultStatus.SUCCESSFUL
    assert result.is_finished
    assert result.return_value == 3
    assert (result.attempts, result.worker_ids, result.errors) == (1, ["worker-1"], [])
    assert result.enqueued_at <= result.finished_at
    assert result.started_at == result.last_attempted_at <= result.finished_at
    assert [name for name, _, _ in heard] == ["task_enqueued", "task_started", "task_finished"]
    assert [status for _, _, status in heard] == ["READY", "RUNNING", "SUCCESSFUL"]


def test_a_task_under_way_is_running(client, queue):
    result = enqueue(tasks.add, queue, 1)
    client.receive(queue, consumer="somebody")
    result.refresh()

    assert result.status == TaskResultStatus.RUNNING
    assert result.started_at is not None
    assert result.finished_at is None
    assert result.worker_ids == ["somebody"]
    with pytest.raises(ValueError, match="not finished"):
        _ = result.return_value


def test_nothing_is_a_result_too(queue, work):
    result = enqueue(tasks.with_priority, queue)
    work(queue)
    result.refresh()

    assert result.status == TaskResultStatus.SUCCESSFUL
    assert result.return_value is None


@pytest.mark.parametrize("runner", [run, run_async])
def test_async_tasks_run_under_either(client, queue, runner):
    enqueue(tasks.add_later, queue, 2, 3)
    (message,) = client.receive(queue)

    async def awaited():
        return await runner(message)

    assert (asyncio.run(awaited()) if runner is run_async else runner(message)) == 5


def test_plain_tasks_run_in_the_event_loops_threads(client, queue):
    enqueue(tasks.add, queue, 2, 3)
    (message,) = client.receive(queue)

    async def awaited():
        return await run_async(message)

    assert asyncio.run(awaited()) == 5


def test_a_failure_that_will_be_retried_leaves_the_task_ready(queue, work, heard):
    result = enqueue(tasks.fail, queue, "first")
    assert isinstance(work(queue), KeyError)
    result.refresh()

    assert result.status == TaskResultStatus.READY
    assert result.finished_at is None
    (error,) = result.errors
    assert error.exception_class is KeyError
    assert "KeyError: 'first'" in error.traceback
    assert "tests/signalbox/django_tasks/tasks.py" in error.traceback
    assert "task_finished" not in [name for name, _, _ in heard]


def test_the_last_failure_fails_the_task(make_queue, work, heard):
    queue = make_queue(max_receives=2)
    result = enqueue(tasks.fail, queue, "again")
    work(queue, "worker-1")
    work(queue, "worker-2")
    result.refresh()

    assert result.status == TaskResultStatus.FAILED
    assert result.is_finished
    assert result.worker_ids == ["worker-1", "worker-2"]
    assert [error.exception_class for error in result.errors] == [KeyError, KeyError]
    assert result.started_at < result.last_attempted_at <= result.finished_at
    assert [name for name, _, _ in heard].count("task_finished") == 1
    assert heard[-1] == ("task_finished", result.id, "FAILED")
    with pytest.raises(ValueError, match="failed"):
        _ = result.return_value


def test_a_retry_that_succeeds_keeps_the_errors(queue, work, tmp_path):
    result = enqueue(tasks.fail_at_first, queue, str(tmp_path / "tried"))
    work(queue)
    assert work(queue) == "done"
    result.refresh()

    assert result.status == TaskResultStatus.SUCCESSFUL
    assert (result.return_value, result.attempts) == ("done", 2)
    assert [error.exception_class for error in result.errors] == [ConnectionError]


def test_a_task_can_have_its_context(queue, work):
    result = enqueue(tasks.tell_attempt, queue, "word")

    assert work(queue) == ["word", 1, result.id, "RUNNING", ["worker-1"]]


@pytest.mark.parametrize(
    ("task", "kind"), [(tasks.give_what_is_not_json, TypeError), (tasks.give_too_much, "InvalidArgument")]
)
def test_a_result_that_cannot_be_kept_fails_the_task_for_good(queue, work, heard, task, kind):
    result = enqueue(task, queue)
    assert isinstance(work(queue), Reject)
    result.refresh()

    assert result.status == TaskResultStatus.FAILED
    assert result.errors[-1].exception_class_path.endswith(kind if isinstance(kind, str) else kind.__name__)
    assert issubclass(result.errors[-1].exception_class, Exception)
    assert heard[-1][0] == "task_finished"


def test_what_is_no_task_is_never_run(client, queue, work, tmp_path):
    touched = tmp_path / "touched"
    message_id = client.send(
        queue,
        {
            "task": "tests.signalbox.django_tasks.tasks.no_task",
            "args": [str(touched)],
            "kwargs": {},
            "backend": "default",
        },
    )
    assert isinstance(work(queue), Reject)

    assert not touched.exists()
    assert client.message_outcome(message_id).outcome == "dead"


def test_a_message_that_is_no_task_at_all_is_a_dead_letter(client, queue, work):
    message_id = client.send(queue, {"order": 7})
    assert isinstance(work(queue), Reject)

    assert client.message_outcome(message_id).outcome == "dead"


def test_a_function_that_is_missing_is_tried_again(client, queue, work):
    """Store a result of a newer release, as during a rollout."""
    message_id = client.send(
        queue, {"task": "tests.signalbox.django_tasks.tasks.gone", "args": [], "kwargs": {}, "backend": "default"}
    )
    error = work(queue)

    assert isinstance(error, ImportError)
    assert "tests.signalbox.django_tasks.tasks.gone" in str(error)
    assert client.message_outcome(message_id).outcome is None


@pytest.mark.parametrize("result_id", ["0", "9223372036854775000", "99999999999999999999", "-1", "word", "", "٣"])
def test_an_unknown_result_does_not_exist(result_id):
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result(result_id)


def test_a_message_that_is_no_task_has_no_result(client, queue):
    message_id = client.send(queue, {"order": 7})

    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result(str(message_id))


def test_results_are_those_of_their_backend(settings, queue):
    result = enqueue(tasks.add, queue, 1)
    settings.TASKS = {name: {"BACKEND": BACKEND, "QUEUES": []} for name in ("default", "other")}

    assert task_backends["default"].get_result(result.id).id == result.id
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["other"].get_result(result.id)


def test_a_result_asked_of_another_task_is_refused(queue):
    result = enqueue(tasks.add, queue, 1)

    assert tasks.add.get_result(result.id).args == [1]
    with pytest.raises(Exception, match="does not match"):
        tasks.fail.get_result(result.id)


def test_results_can_be_asked_for_asynchronously(queue, work):
    result = enqueue(tasks.add, queue, 1)
    work(queue)

    async def ask():
        await result.arefresh()
        return await tasks.add.aget_result(result.id)

    assert asyncio.run(ask()).return_value == 1
    assert result.status == TaskResultStatus.SUCCESSFUL


def test_a_task_that_was_purged_has_failed_and_says_so(client, queue):
    result = enqueue(tasks.add, queue, 1)
    assert client.purge(queue) == 1
    result.refresh()

    assert result.status == TaskResultStatus.FAILED
    assert [error.exception_class.__name__ for error in result.errors] == ["TaskPurged"]


def test_a_lease_that_ended_is_an_attempt(dsn, client, queue, work):
    result = enqueue(tasks.add, queue, 1)
    client.receive(queue, visibility_timeout=0, consumer="vanished")
    assert work(queue) == 1
    result.refresh()

    assert result.worker_ids == ["vanished", "worker-1"]
    assert [error.exception_class.__name__ for error in result.errors] == ["LeaseExpired"]


def test_a_task_redriven_from_its_dead_letter_is_ready_again(dsn, make_queue, client, work):
    queue = make_queue(max_receives=1)
    result = enqueue(tasks.fail, queue, "once")
    work(queue)
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "select signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter where message_id = %s))",
            [int(result.id)],
        )
    result.refresh()

    assert result.status == TaskResultStatus.READY
    assert len(result.errors) == 1
