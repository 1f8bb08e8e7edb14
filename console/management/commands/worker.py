"""manage.py worker: run a handler on the messages of a queue, with Django set up around it."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from functools import partial
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.core.management.base import CommandError
from django.db import close_old_connections, connections, reset_queries, transaction

from queues.commands import OwnCommand
from queues.database.connections import dsn
from queues.messages import client
from signalbox import SignalboxError
from signalbox.worker.command import add_arguments, group_worker_of, workers_of
from signalbox.worker.handlers.naming import Handler, is_async, load
from signalbox.worker.handlers.once import check_plain
from signalbox.worker.worker import run


class Command(OwnCommand):
    help = "Receive from a queue, or read a consumer group, and run a handler on each message, until interrupted."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        options.setdefault("bodies", "queues.bodies:store")
        try:
            if (worker := group_worker_of(dsn(), options)) is not None:
                worker.handler = in_django(partial(load, worker.handler))
                worker.run()
                return
            workers = workers_of(dsn(), options, environment=_environment(options))
            connections.close_all()  # the worker and its child processes open their own
            run(workers)
        except SignalboxError as error:
            raise CommandError(str(error)) from error


def _environment(options: dict[str, Any]) -> str:
    return f"{__name__}:{'in_django_once' if options.get('once') else 'in_django'}"


def in_django_once(load_handler: Callable[[], Handler]) -> Handler:
    """Set Django up as `in_django` does, and handle each message once: the same transaction records it in the inbox."""

    def load_once() -> Handler:
        handler = load_handler()
        check_plain(handler)

        @functools.wraps(handler)
        def handle(message: Any) -> Any:
            with transaction.atomic():
                return handler(message) if client().once(message) else None

        return handle

    return in_django(load_once)


def in_django(load_handler: Callable[[], Handler]) -> Handler:
    """Set Django up in a child process. Before and after each message, close stale connections, as for a request."""
    django.setup()
    handler = load_handler()

    @functools.wraps(handler)
    def run(message: Any) -> Any:
        _refresh()
        try:
            return handler(message)
        finally:
            _refresh()

    @functools.wraps(handler)
    async def run_async(message: Any) -> Any:
        await sync_to_async(_refresh)()
        try:
            return await handler(message)
        finally:
            await sync_to_async(_refresh)()

    return run_async if is_async(handler) else run


def _refresh() -> None:
    """Close connections that are broken or too old, and forget the queries that DEBUG recorded."""
    close_old_connections()
    reset_queries()
