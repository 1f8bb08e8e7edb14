"""manage.py export "FILTER": write dead letters or messages as NDJSON or CSV to standard output."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from dlq.export import rows
from dlq.export.files import Bound, Export, Format, Source
from dlq.filters import FilterError, parse
from dlq.search.checked_filter import check_filter
from dlq.search.message_list import TARGETS
from queues.commands import OwnCommand
from queues.control import queues
from queues.errors import SignalboxError
from queues.messages.lists import State


class Command(OwnCommand):
    help = "Write the messages that a filter selects to standard output. The exit status is 3 when a limit was reached."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("filter", help="filter as in the console; '' selects all")
        parser.add_argument("--format", choices=[form.value for form in Format], default=Format.NDJSON.value)
        parser.add_argument("--limit", type=int, help="largest number of rows (default: EXPORT_MAX_ROWS)")
        parser.add_argument(
            "--of",
            default="dead-letters",
            metavar="LIST",
            help="list to export: dead-letters (the default) or messages:QUEUE",
        )
        parser.add_argument("--state", choices=[state.value for state in State], help="only messages in this state")
        parser.add_argument("--reveal", action="store_true", help="show masked values; recorded in the audit")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            bound = Bound.of(options["limit"])
            export = Export(_source(options), Format(options["format"]), bound, actor="manage.py")
            self._write(export)
        except FilterError as error:
            raise CommandError(f"{error} The mistake is at character {error.position + 1}: {error.token}") from error
        except SignalboxError as error:
            raise CommandError(str(error)) from error
        if export.cut:
            self.stderr.write(f"The export was {export.cut}.")
            sys.exit(3)

    def _write(self, export: Export) -> None:
        try:
            for chunk in export:
                self.stdout.write(chunk.decode(), ending="")
            self.stdout.flush()
        except BrokenPipeError:  # the reader, such as `head`, has ended: discard the rest
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        finally:
            export.close()


def _source(options: dict[str, Any]) -> Source:
    read, (kind, _, name) = parse(options["filter"]), options["of"].partition(":")
    state = State(options["state"]) if options["state"] else None
    if kind == "dead-letters" and not name and state is None:
        return rows.dead_letters(check_filter(read), see_payloads=True, reveal=options["reveal"])
    if kind == "messages" and name:
        queue = queues.get_queue(name)
        filter = check_filter(read, targets=tuple(TARGETS[state] for state in rows.states_of(read, state)))
        return rows.messages(queue, filter, state, see_payloads=True, reveal=options["reveal"])
    raise CommandError("--of must be dead-letters or messages:QUEUE; --state is allowed only with messages:QUEUE")
