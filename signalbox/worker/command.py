"""The worker's command line, for `python -m signalbox.worker` and for whoever has a command line already."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from signalbox.addresses import add_address, address_of
from signalbox.errors import InvalidArgument, SignalboxError
from signalbox.logs import log_to_standard_error
from signalbox.logs.formatters import FORMATS
from signalbox.worker.options import Options
from signalbox.worker.registering import handlings_of
from signalbox.worker.serving import run
from signalbox.worker.worker import Worker


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The queue, the handler and every option of a worker that makes sense on a command line."""
    parser.add_argument("queue", nargs="?", help="the queue to receive from")
    parser.add_argument("handler", nargs="?", help="what to run on each message: module:function or path.py:function")

    def add(name: str, **details: Any) -> None:
        parser.add_argument(name, default=argparse.SUPPRESS, **details)

    add("--app", metavar="MODULE", help="run what MODULE, or path.py, decorates with @handles, instead of one handler")
    add("--concurrency", type=int, metavar="N", help="runs at a time (1)")
    add("--prefetch", type=int, metavar="N", help="messages held beyond those running (0)")
    add("--ack-delay", type=float, metavar="S", help="seconds an ack may wait for others to go with (0.005; 0: none)")
    add("--ack-batch", type=int, metavar="N", help="acks in one call at most (100; 1: each alone)")
    add("--task-timeout", type=float, metavar="S", help="stop a run after so many seconds (never)")
    add("--visibility-timeout", type=float, metavar="S", help="seconds of a lease (the queue's setting)")
    add("--heartbeat", type=float, metavar="S", help="seconds between extensions (a third of the lease)")
    add("--poll-interval", type=float, metavar="S", help="seconds between looks into an empty queue (2)")
    add("--stop-grace", type=float, metavar="S", help="seconds that runs may finish in after a stop (30)")
    add("--cancel-grace", type=float, metavar="S", help="seconds a cancelled async run may take to end (5)")
    add("--tasks-per-process", type=int, metavar="N", help="runs that share a child process (1; async: all)")
    add("--keep-results", action="store_true", help="keep what the handler returns, as the message's result")
    add("--bodies", metavar="WHERE", help="large bodies: a folder or module:function (SIGNALBOX_BODIES)")
    if given := os.environ.get("SIGNALBOX_BODIES"):
        parser.set_defaults(bodies=given)
    add("--metrics-port", type=int, metavar="N", help="serve /metrics with the durations of its calls there (nowhere)")
    add("--consumer", metavar="NAME", help="the worker's name in the console (host:pid)")
    add(
        "--no-prepare",
        action="store_const",
        const=None,
        dest="prepare_threshold",
        help="no prepared statements, for PgBouncer in transaction mode",
    )


def workers_of(dsn: str, given: Mapping[str, Any], environment: str | None = None) -> list[Worker]:
    """The workers that parsed arguments describe; what was not given keeps its default, or what its handler says.

    Raises InvalidArgument.
    """
    options = {name: given[name] for name in _OPTIONS & given.keys()}
    queue, handler = given.get("queue"), given.get("handler")
    if (app := given.get("app")) is None:
        if not (queue and handler):
            raise InvalidArgument("name a queue and a handler, or a module with --app", field="handler")
        return [Worker(dsn, queue, handler, environment=environment, **options)]
    if handler is not None:
        raise InvalidArgument("--app takes its handlers from the module: name at most a queue beside it", field="app")
    workers = [
        Worker(dsn, one.queue, one.handler, environment=environment, **{**options, **one.options})
        for one in handlings_of(app, queue)
    ]
    for other in workers[1:]:
        other.metrics_port = None  # what it serves is of the whole process
    return workers


_OPTIONS = {field.name for field in fields(Options)} - {"dsn", "environment", "queue", "handler"}


def add_surroundings(parser: argparse.ArgumentParser) -> None:
    """Where the queues are, and how to log: what a framework with settings of its own would say."""
    add_address(parser, "--dsn")
    parser.add_argument("--log-level", default="INFO", help="DEBUG, INFO (the default), WARNING or ERROR")
    log_format = os.environ.get("LOG_FORMAT", "text")
    parser.add_argument("--log-format", default=log_format, choices=FORMATS, help="of each line (LOG_FORMAT)")


def work(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Run the workers that the command line describes until they are told to stop."""
    if given.log_format not in FORMATS:
        parser.error(f"LOG_FORMAT must be one of {', '.join(FORMATS)}, not {given.log_format!r}")
    try:
        address = address_of(given)
    except InvalidArgument as error:
        parser.error(str(error))
    log_to_standard_error(given.log_format, given.log_level.upper())
    if given.log_level.upper() != "DEBUG":
        logging.getLogger("httpx").setLevel(logging.WARNING)  # it tells of every request
    try:
        run(workers_of(address.url, {**vars(given), "api_key": address.api_key}))
    except (SignalboxError, ImportError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a worker until it is told to stop."""
    parser = argparse.ArgumentParser(prog="python -m signalbox.worker", description=Worker.__doc__)
    add_arguments(parser)
    add_surroundings(parser)
    work(parser, parser.parse_args(arguments))
