"""A forged task in the broker's queue runs nothing without a row: a task carries an id only."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any

import pytest
from django.db import DatabaseError

from console.celery import KEPT_BUILT_IN, app
from dlq.jobs.models import Job
from dlq.tasks import WORKS
from pipeline.models import Run, RunRequest

HOSTILE: list[Any] = [["--settings=pwn", "--pythonpath=/tmp"], "--settings=pwn", {"actor": "admin"}, -1, 2**63, None]

pytestmark = pytest.mark.usefixtures("commits")


def own_tasks() -> dict[str, Any]:
    """Every task that a worker of ours runs."""
    app.loader.import_default_modules()
    rooms = ("console", "dlq", "pipeline", "metrics", "queues")
    return {name: task for name, task in app.tasks.items() if name.split(".")[0] in rooms}


def test_a_task_takes_the_id_of_a_row_and_nothing_else() -> None:
    found = own_tasks()

    assert len(found) >= 12
    for name, task in found.items():
        parameters = list(inspect.signature(task.run).parameters.values())
        assert [one.annotation for one in parameters] in ([], ["int"]), name
        assert all(one.kind is one.POSITIONAL_OR_KEYWORD and one.default is one.empty for one in parameters), name


def test_no_task_of_celery_itself_runs_what_a_message_names() -> None:
    app.finalize()

    assert {name for name in app.tasks if name.startswith("celery.")} == KEPT_BUILT_IN


@pytest.mark.parametrize("given", HOSTILE, ids=repr)
def test_a_forged_message_changes_nothing(given: Any) -> None:
    requests = RunRequest.objects.count()
    for name, task in own_tasks().items():
        with contextlib.suppress(TypeError, ValueError, DatabaseError):  # it may fail: then the message is over
            task.run(*([given] if inspect.signature(task.run).parameters else []))
        for model in (work.model for work in WORKS):
            assert not model._default_manager.filter(state=Job.State.RUNNING).exists(), name
    assert RunRequest.objects.count() == requests
    assert not Run.objects.filter(state=Run.State.RUNNING).exists()


def test_a_link_that_came_with_a_message_is_not_followed() -> None:
    followed: list[str] = []

    @app.task(shared=False, name="tests.followed")
    def follow(*_: Any) -> None:
        followed.append("followed")

    for link in ("link", "link_error"):
        app.tasks["pipeline.run"].apply(args=[0], **{link: follow.si()})
        app.tasks["pipeline.run"].apply(args=[0, "too many"], **{link: follow.si()})

    assert followed == []
    app.tasks.unregister("tests.followed")
