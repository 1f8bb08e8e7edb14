"""`signalbox create`: queues from a terminal."""

from __future__ import annotations

import argparse
import json

from signalbox.cli.command import DONE, Commands, add, say
from signalbox.errors import InvalidArgument
from signalbox.verbs import Verbs


def add_commands(commands: Commands) -> None:
    """`create` and `configure`."""
    for name, run, about in (
        ("create", create, "Make a queue. The same again changes nothing."),
        ("configure", configure, "Change settings of a queue and leave the others."),
    ):
        parser = add(commands, name, run, about)
        parser.add_argument("queue", metavar="QUEUE")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting, as max_receives=3; repeat it"
        )


def create(verbs: Verbs, given: argparse.Namespace) -> int:
    """Print its id."""
    queue_id = verbs.create_queue(given.queue, _settings(given.set))
    say(given, {"queue_id": queue_id, "name": given.queue}, str(queue_id))
    return DONE


def configure(verbs: Verbs, given: argparse.Namespace) -> int:
    """Print its id."""
    queue_id = verbs.configure_queue(given.queue, _settings(given.set))
    say(given, {"queue_id": queue_id, "name": given.queue}, str(queue_id))
    return DONE


def _settings(given: list[str]) -> dict[str, object]:
    """Values are JSON, or else text."""
    settings: dict[str, object] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise InvalidArgument(f"--set must be NAME=VALUE, not {text!r}", field="settings")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings
