"""The command line of workers, for `python -m signalbox.worker` and for commands of frameworks."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields
from typing import Any

from signalbox.connections.connecting import add_address, address_of
from signalbox.errors import InvalidArgument, SignalboxError
from signalbox.logs import log_to_standard_error
from signalbox.logs.formatters import FORMATS
from signalbox.worker.groups import GroupWorker
from signalbox.worker.handlers.registry import handlings_of
from signalbox.worker.options import Options
from signalbox.worker.worker import Worker, run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the queue and the handler, and the options of a worker."""
    queue = "the queue to receive from, or several: orders,emails or by weight orders:3,emails; also QUEUES=HANDLER"
    parser.add_argument("queue", nargs="?", help=queue)
    handler = "the function that handles each message, or a table of them by type: module:name or path.py:name"
    parser.add_argument("handler", nargs="?", help=handler)

    parser.add_argument(
        "--app",
        metavar="MODULE",
        default=argparse.SUPPRESS,
        help="run all functions of MODULE, or of path.py, that are decorated with @handles",
    )
    for option in (*fields(Options), *fields(GroupWorker)):
        if "help" in option.metadata:
            _add_option(parser, option)
    for name in ("stream", "group"):
        text = f"the {name} of a consumer group; the only other argument is the handler"
        parser.add_argument(f"--{name}", metavar=name.upper(), default=argparse.SUPPRESS, help=text)
    if bodies := os.environ.get("SIGNALBOX_BODIES"):
        parser.set_defaults(bodies=bodies)
    parser.add_argument(
        "--no-prepare",
        action="store_const",
        const=None,
        default=argparse.SUPPRESS,
        dest="prepare_threshold",
        help="use no prepared statements, for PgBouncer in transaction mode",
    )


def _add_option(parser: argparse.ArgumentParser, option: Field[Any]) -> None:
    """Add an option of workers by its declaration in `Options`."""
    kind = str(option.type).partition(" ")[0]
    value = {"type": {"int": int, "float": float, "str": str}[kind]} if kind != "bool" else {"action": "store_true"}
    details: dict[str, Any] = {name: text for name, text in option.metadata.items() if text} | value
    parser.add_argument(f"--{option.name.replace('_', '-')}", default=argparse.SUPPRESS, **details)


def workers_of(dsn: str, given: Mapping[str, Any], environment: str | None = None) -> list[Worker]:
    """Make the workers that parsed arguments describe; options not given keep the handler's value or the default.

    Raises InvalidArgument.
    """
    named = {field.name for field in fields(Options)} - {"dsn", "environment", "queue", "handler"}
    options = {name: given[name] for name in named & given.keys()}
    queue, handler = _queue_and_handler(given)
    if (app := given.get("app")) is None:
        if not (queue and handler):
            raise InvalidArgument("name a queue and a handler, or a module with --app", field="handler")
        return [Worker(dsn, queue, handler, environment=environment, **options)]
    if handler is not None:
        raise InvalidArgument("--app takes the handlers from the module: give at most a queue beside it", field="app")
    workers = [
        Worker(dsn, handling.queue, handling.handler, environment=environment, **{**options, **handling.options})
        for handling in handlings_of(app, queue)
    ]
    for other in workers[1:]:
        other.metrics_port = None  # one port serves the whole process
    return workers


def _queue_and_handler(given: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Read the two arguments, which may be written as one: `orders,emails=shop:send`."""
    queue, handler = given.get("queue"), given.get("handler")
    if handler is None and queue is not None and "=" in queue:
        queue, _, handler = queue.partition("=")
    return queue, handler


def group_worker_of(dsn: str, given: Mapping[str, Any]) -> GroupWorker | None:
    """Make the worker of a consumer group that parsed arguments describe; None if they name no stream.

    Raises InvalidArgument.
    """
    stream, group, handler = given.get("stream"), given.get("group"), given.get("queue")
    if stream is None and group is None:
        return None
    if not (stream and group and handler) or given.get("handler"):
        raise InvalidArgument("--stream and --group go together, with a handler and no queue", field="stream")
    named = {field.name for field in fields(GroupWorker) if "help" in field.metadata} | {"api_key", "bodies"}
    return GroupWorker(dsn, stream, group, handler, **{name: given[name] for name in named & given.keys()})


def add_surroundings(parser: argparse.ArgumentParser) -> None:
    """Add the options for the address and for logging, which a framework would take from its own settings."""
    add_address(parser, "--dsn")
    parser.add_argument("--log-level", default="INFO", help="DEBUG, INFO, WARNING or ERROR (default INFO)")
    log_format = os.environ.get("LOG_FORMAT", "text")
    parser.add_argument(
        "--log-format", default=log_format, choices=FORMATS, help="format of log lines (default: LOG_FORMAT, or text)"
    )


def work(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Run the workers that the command line describes until they are stopped."""
    if given.log_format not in FORMATS:
        parser.error(f"LOG_FORMAT must be one of {', '.join(FORMATS)}, not {given.log_format!r}")
    try:
        url, api_key = address_of(given)
    except InvalidArgument as error:
        parser.error(str(error))
    log_to_standard_error(given.log_format, given.log_level.upper())
    if given.log_level.upper() != "DEBUG":
        logging.getLogger("httpx").setLevel(logging.WARNING)  # at INFO, httpx logs every request
    try:
        options = {**vars(given), "api_key": api_key}
        if (worker := group_worker_of(url, options)) is not None:
            worker.run()
        else:
            run(workers_of(url, options))
    except (SignalboxError, ImportError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a worker until it is stopped."""
    parser = argparse.ArgumentParser(prog="python -m signalbox.worker", description=Worker.__doc__)
    add_arguments(parser)
    add_surroundings(parser)
    work(parser, parser.parse_args(arguments))
