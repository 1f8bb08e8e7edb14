"""Real workers run tasks: under `manage.py worker`, and without any command of Django's."""

from __future__ import annotations

import os
import subprocess
import sys
from urllib.parse import quote, urlencode

import pytest
from psycopg.conninfo import conninfo_to_dict

from signalbox.django_tasks.interface import TaskResultStatus
from tests.signalbox.django_tasks import tasks
from tests.signalbox.worker.workers import PATIENCE, eventually

MANAGE = ("manage.py", "worker")
PLAIN = ("-m", "signalbox.worker")


@pytest.fixture
def start(dsn):
    """Start a worker on the queue, by either command."""
    started = []
    url = f"postgresql:///?{urlencode(conninfo_to_dict(dsn), quote_via=quote)}"
    environment = {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.signalbox.django_tasks.settings"}

    def start_process(command, queue, handler, *options):
        started.append(
            subprocess.Popen(
                [sys.executable, *command, queue, f"signalbox.django_tasks:{handler}", "--poll-interval=0.2", *options],
                env=os.environ | environment,
                stderr=subprocess.DEVNULL,
            )
        )

    yield start_process
    for process in started:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def finished(result):
    def look():
        result.refresh()
        return result.is_finished

    eventually(look)
    return result


@pytest.mark.parametrize("command", [MANAGE, pytest.param(PLAIN, marks=pytest.mark.proof)], ids=["manage.py", "module"])
@pytest.mark.parametrize("handler", ["run", pytest.param("run_async", marks=pytest.mark.proof)])
def test_a_worker_runs_tasks_and_keeps_what_they_return(queue, start, tmp_path, command, handler):
    file = tmp_path / "process"
    result = tasks.write_process.using(queue_name=queue).enqueue(str(file))
    later = tasks.add_later.using(queue_name=queue).enqueue(1, 2)
    start(command, queue, handler, "--consumer=one")

    assert finished(result).return_value == {"written": str(file)}
    assert result.worker_ids == ["one"]
    assert file.read_text() != str(os.getpid())
    assert finished(later).return_value == 3


@pytest.mark.proof
def test_a_task_that_takes_too_long_fails_with_where_it_was(make_queue, start):
    queue = make_queue(max_receives=1)
    result = tasks.take_for_ever.using(queue_name=queue).enqueue()
    start(MANAGE, queue, "run", "--task-timeout=3")

    assert finished(result).status == TaskResultStatus.FAILED
    (error,) = result.errors
    assert error.exception_class.__name__ == "TaskTimeout"
    assert "take_for_ever" in error.traceback
