"""manage.py queues list | create | show | export | apply | rename | drain | delete | restored, from a terminal."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from console.queues import commands, configuration
from queues.commands import ACTOR, VerbCommand
from queues.control.queues import create_queue, get_queue
from queues.counters.queue_numbers import QueueNumbers, read_numbers
from queues.settings import SETTINGS


class Command(VerbCommand):
    help = "List queues with their numbers, create one, show one with its settings, or manage all by a file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every queue with depth, age and rates").add_argument(
            "--json", action="store_true"
        )
        create = verbs.add_parser("create", help="create a queue; a queue that exists with equal settings is kept")
        create.add_argument("name")
        create.add_argument("--tenant", help="the owner of the queue (default: the tenant 'default')")
        create.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=", ".join(SETTINGS))
        show = verbs.add_parser("show", help="one queue: numbers and settings")
        show.add_argument("name")
        show.add_argument("--json", action="store_true")
        configuration.add_arguments(verbs)
        commands.add_arguments(verbs)

    def _list(self, options: dict[str, Any]) -> None:
        if not options["json"]:
            self.stdout.write(_LINE.format(*_HEADINGS))
        self.write_rows(read_numbers(), options["json"], _line, _as_json)

    def _create(self, options: dict[str, Any]) -> None:
        settings = dict(_parse_setting(text) for text in options["set"])
        queue = create_queue(options["name"], settings, tenant=options["tenant"], actor=ACTOR)
        self.stdout.write(f"{queue.name} (id {queue.queue_id})")

    def _show(self, options: dict[str, Any]) -> None:
        queue = get_queue(options["name"])
        (row,) = read_numbers([queue.queue_id])
        shown = _as_json(row) | {"settings": {name: getattr(queue, name) for name in SETTINGS}}
        if options["json"]:
            self.stdout.write(json.dumps(shown, indent=2))
            return
        for name, value in shown.items():
            if isinstance(value, dict):
                self.stdout.write(f"{name}:")
                for inner, inner_value in value.items():
                    self.stdout.write(f"  {inner}: {inner_value}")
            else:
                self.stdout.write(f"{name}: {value}")


_LINE = "{:<32} {:<12} {:>9} {:>8} {:>8} {:>8} {:>9} {:>8} {:>8}"


_HEADINGS = ("queue", "tenant", "ready", "leased", "sched.", "dead", "oldest", "in/s", "out/s")


def _line(row: QueueNumbers) -> str:
    age = "-" if row.oldest_ready_age_seconds is None else f"{row.oldest_ready_age_seconds:.1f}s"
    rates = (f"{row.in_per_second:.1f}", f"{row.out_per_second:.1f}")
    return _LINE.format(row.name, row.tenant, row.ready, row.leased, row.scheduled, row.dead, age, *rates)


def _as_json(row: QueueNumbers) -> dict[str, Any]:
    return {
        "name": row.name,
        "tenant": row.tenant,
        "ready": row.ready,
        "leased": row.leased,
        "scheduled": row.scheduled,
        "dead": row.dead,
        "oldest_ready_age_seconds": row.oldest_ready_age_seconds,
        "in_per_second": round(row.in_per_second, 2),
        "out_per_second": round(row.out_per_second, 2),
        "consumers": row.consumers,
        "paused": row.paused,
        "closed": row.closed,
        "totals": row.totals,
    }


def _parse_setting(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator:
        raise CommandError(f"{text!r} is not of the form name=value")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value  # a plain word is text
