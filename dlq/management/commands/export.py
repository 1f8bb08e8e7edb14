"""manage.py export "FILTER": a list as NDJSON or CSV on standard output, from a terminal."""

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
    help = "Write what a filter selects to standard output, with payloads. Ends with status 3 when it was cut."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("filter", help="as in the console; '' selects everything")
        parser.add_argument("--format", choices=[form.value for form in Format], default=Format.NDJSON.value)
        parser.add_argument("--limit", type=int, help="rows at most (default: EXPORT_MAX_ROWS)")
        parser.add_argument("--of", default="dead-letters", metavar="LIST", help="dead-letters or messages:QUEUE")
        parser.add_argument("--state", choices=[state.value for state in State], help="of messages: in this state only")

        parser.add_argument("--reveal", action="store_true", help="leave nothing masked; the audit says so")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            bound = Bound.of(options["limit"])
            export = Export(_source(options), Format(options["format"]), bound, actor="manage.py")
            self._write(export)
        except FilterError as error:
            raise CommandError(f"{error} It stands at character {error.position + 1}: {error.token}") from error
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
        except BrokenPipeError:  # as when `head` has seen enough: nothing is left to flush at the end
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
        filter = check_filter(read, targets=tuple(TARGETS[one] for one in rows.states_of(read, state)))
        return rows.messages(queue, filter, state, see_payloads=True, reveal=options["reveal"])
    raise CommandError("--of is dead-letters, or messages:QUEUE, which alone takes --state")
