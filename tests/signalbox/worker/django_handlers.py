"""Handlers that need Django around them."""

from __future__ import annotations

from pathlib import Path

from django.db import connection


def ask_the_orm(message):
    from queues.models import Queue  # only where Django is set up can models be imported

    word = Queue.objects.get(name=message.payload["queue"]).name
    Path(message.payload["file"]).write_text(word)


def break_the_connection(message):
    """The first delivery kills its own connection; the next one needs a working one."""
    with connection.cursor() as cursor:
        if message.receive_count == 1:
            cursor.execute("select pg_terminate_backend(pg_backend_pid())")
    ask_the_orm(message)


async def ask_the_orm_async(message):
    from queues.models import Queue

    found = await Queue.objects.aget(name=message.payload["queue"])
    Path(message.payload["file"]).write_text(found.name)
