"""The command line `signalbox`: the address of the queues, the command, and the exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import psycopg

from signalbox import __version__
from signalbox.cli import queues, receiving, sending, server, sqs, streams, subscriptions
from signalbox.cli.command import INTERRUPTED, REFUSED, UNAVAILABLE
from signalbox.connections.connecting import add_address, address_of, connect, is_server
from signalbox.errors import InvalidArgument, SignalboxError
from signalbox.logs import in_brief
from signalbox.payloads.bodies import BodyStore
from signalbox.worker import command as worker_command
from signalbox.worker.processes.child import store_of


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 refused, 2 wrong usage, 3 nothing found, 4 no answer."""
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.command == "worker":
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as `python -m` does, for handlers that are here
        worker_command.work(parser, args)
        return
    server.start_if_asked(args)
    sqs.forward_if_asked(parser, args)
    try:
        url, api_key = address_of(args)
    except InvalidArgument as error:
        parser.error(str(error))
    try:
        with connect(url, api_key, **_stores(url)) as verbs:
            status = args.run(verbs, args)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has closed the pipe
        status = REFUSED
    except SignalboxError as error:
        parser.exit(REFUSED, f"signalbox: {error}\n")
    except (psycopg.OperationalError, OSError) as error:
        parser.exit(UNAVAILABLE, f"signalbox: {in_brief(error)}\n")
    except (ImportError, UnicodeError, psycopg.Error) as error:  # psycopg.Error: a statement failed
        parser.exit(REFUSED, f"signalbox: {str(error).strip() or type(error).__name__}\n")
    except KeyboardInterrupt:
        parser.exit(INTERRUPTED)
    parser.exit(status)


def _stores(url: str) -> dict[str, BodyStore]:
    """The body store that SIGNALBOX_BODIES names, for a database; a server has its own."""
    store = None if is_server(url) else store_of(os.environ.get("SIGNALBOX_BODIES") or None)
    return {} if store is None else {"bodies": store}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="signalbox",
        description="Send to queues, receive from them, run handlers, and run the server.",
        epilog="Exit status: 0 done, 1 refused, 2 wrong usage, 3 nothing found, 4 no answer.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for noun in (sending, receiving, queues, subscriptions):
        noun.add_commands(commands)
    for parser_of_command in (*commands.choices.values(), *streams.add_commands(commands)):
        add_address(parser_of_command)
        parser_of_command.add_argument("--json", action="store_true", help="print one JSON object on each line")
    server.add_commands(commands)
    sqs.add_commands(commands.add_parser("sqs", help="move from Amazon SQS", description="Move from Amazon SQS."))
    worker = commands.add_parser("worker", help="run handlers until it is stopped", description="Run handlers.")
    worker_command.add_arguments(worker)
    worker_command.add_surroundings(worker)
    return parser
