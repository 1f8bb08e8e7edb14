"""The command line as a whole: where the queues are, which command, and how it ended."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import psycopg

from signalbox import __version__
from signalbox.addresses import add_address, address_of
from signalbox.cli import outcomes, queues, receiving, sending
from signalbox.cli.command import INTERRUPTED, REFUSED, UNAVAILABLE
from signalbox.connecting import connect
from signalbox.errors import InvalidArgument, SignalboxError
from signalbox.logs import in_brief
from signalbox.worker import command as worker_command


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says, and exit: 0 done, 1 refused, 2 misunderstood, 3 nothing there, 4 no answer."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command == "worker":
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as `python -m` does, for handlers that are here
        worker_command.work(parser, given)
        return
    try:
        address = address_of(given)
    except InvalidArgument as error:
        parser.error(str(error))
    try:
        with connect(address.url, address.api_key) as verbs:
            status = given.run(verbs, given)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on: say no more, not even that
        status = REFUSED
    except SignalboxError as error:
        parser.exit(REFUSED, f"signalbox: {error}\n")
    except (psycopg.OperationalError, OSError) as error:
        parser.exit(UNAVAILABLE, f"signalbox: {in_brief(error)}\n")
    except (ImportError, UnicodeError, psycopg.Error) as error:  # of the last, what the server could make nothing of
        parser.exit(REFUSED, f"signalbox: {str(error).strip() or type(error).__name__}\n")
    except KeyboardInterrupt:
        parser.exit(INTERRUPTED)
    parser.exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="signalbox",
        description="Send to queues, receive from them, run handlers; in a database or through a server.",
        epilog="Ends with 0 when done, 1 when refused, 2 when misunderstood, 3 for nothing there, 4 without an answer.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for room in (sending, receiving, outcomes, queues):
        room.add_commands(commands)
    for each in commands.choices.values():
        add_address(each)
        each.add_argument("--json", action="store_true", help="one JSON object on each line")
    worker = commands.add_parser("worker", help="run handlers until told to stop", description="Run handlers.")
    worker_command.add_arguments(worker)
    worker_command.add_surroundings(worker)
    return parser
