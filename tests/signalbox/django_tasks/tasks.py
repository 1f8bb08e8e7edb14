"""Tasks for the tests of the backend, at the top of a module as tasks must be."""

from __future__ import annotations

import os
import time
from pathlib import Path

import django

if django.VERSION >= (6, 0):
    from django.tasks import task
else:
    from django_tasks import task


@task()
def add(a, b=0):
    return a + b


@task(priority=7)
def with_priority():
    return None


@task()
async def add_later(a, b):
    return a + b


@task(takes_context=True)
def tell_attempt(context, word):
    result = context.task_result
    return [word, context.attempt, result.id, str(result.status), result.worker_ids]


@task()
def fail(reason):
    raise KeyError(reason)


@task()
def fail_at_first(path):
    file = Path(path)
    if not file.exists():
        file.touch()
        raise ConnectionError("not yet")
    return "done"


@task()
def give_what_is_not_json():
    return object()


@task()
def give_too_much():
    return "x" * 70_000


@task()
def take_for_ever():
    time.sleep(3600)


@task()
def write_process(path):
    Path(path).write_text(str(os.getpid()))
    return {"written": path}


def no_task(path):
    Path(path).touch()
