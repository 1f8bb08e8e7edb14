"""Queues from a terminal: `signalbox queues`, `show`, `create`, `configure`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from signalbox.cli.command import DONE, NOTHING, Commands, add, say
from signalbox.errors import InvalidArgument
from signalbox.verbs import Verbs


def add_commands(commands: Commands) -> None:
    """What there is, what is in one, and making and configuring one."""
    parser = add(commands, "queues", queues, "List queues by name, with tenant, mode and state. Ends with 3 for none.")
    parser.add_argument("--prefix", default="", metavar="TEXT", help="only those whose names begin so")
    parser = add(commands, "show", show, "Say how many messages a queue has where, and its settings.")
    parser.add_argument("queue", metavar="QUEUE")
    for name, run, about in (
        ("create", create, "Make a queue. The same again changes nothing."),
        ("configure", configure, "Change settings of a queue and leave the others."),
    ):
        parser = add(commands, name, run, about)
        parser.add_argument("queue", metavar="QUEUE")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting, as max_receives=3; repeat it"
        )


def queues(verbs: Verbs, given: argparse.Namespace) -> int:
    """Print a line for each."""
    found = verbs.list_queues(given.prefix)
    for one in found:
        line = f"{one.name}\t{one.tenant}\t{one.settings['mode']}\t{one.state}"
        say(given, asdict(one), line)
    return DONE if found else NOTHING


def show(verbs: Verbs, given: argparse.Namespace) -> int:
    """Print a line for each number and each setting."""
    info = verbs.describe_queue(given.queue)
    facts = {
        "tenant": info.tenant,
        "state": info.state,
        **(info.messages or {}),
        "oldest_visible_seconds": info.oldest_visible_seconds,
        **dict(sorted(info.settings.items())),
    }
    say(given, asdict(info), "\n".join(f"{name}\t{json.dumps(value)}" for name, value in facts.items()))
    return DONE


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
        except (ValueError, RecursionError):
            settings[name] = value
    return settings
