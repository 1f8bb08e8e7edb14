"""Queues from a terminal: `signalbox queues`, `show`, `create`, `configure`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from signalbox.cli.command import DONE, NOTHING, Commands, add, say, settings_of
from signalbox.verbs import Verbs


def add_commands(commands: Commands) -> None:
    """Add the commands that list, describe, create and configure queues."""
    parser = add(commands, queues)
    parser.add_argument("--prefix", default="", metavar="TEXT", help="list only queues whose names begin with TEXT")
    add(commands, show).add_argument("queue", metavar="QUEUE")
    for run in (create, configure):
        parser = add(commands, run)
        parser.add_argument("queue", metavar="QUEUE")
        setting = "a setting, such as max_receives=3; may be repeated"
        parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=setting)


def queues(verbs: Verbs, args: argparse.Namespace) -> int:
    """List queues by name, with tenant, mode and state. Exit status 3: no queue."""
    listed = verbs.list_queues(args.prefix)
    for queue in listed:
        say(args, asdict(queue), f"{queue.name}\t{queue.tenant}\t{queue.settings['mode']}\t{queue.state}")
    return DONE if listed else NOTHING


def show(verbs: Verbs, args: argparse.Namespace) -> int:
    """Show the number of messages of a queue in each state, and its settings."""
    info = verbs.describe_queue(args.queue)
    facts = {
        "tenant": info.tenant,
        "state": info.state,
        **(info.messages or {}),
        "oldest_visible_seconds": info.oldest_visible_seconds,
        **dict(sorted(info.settings.items())),
    }
    say(args, asdict(info), "\n".join(f"{name}\t{json.dumps(value)}" for name, value in facts.items()))
    return DONE


def create(verbs: Verbs, args: argparse.Namespace) -> int:
    """Create a queue and print its id. Repeating it with equal settings changes nothing."""
    return _say_id(args, verbs.create_queue(args.queue, settings_of(args.set)))


def configure(verbs: Verbs, args: argparse.Namespace) -> int:
    """Change the given settings of a queue, keep the others, and print its id."""
    return _say_id(args, verbs.configure_queue(args.queue, settings_of(args.set)))


def _say_id(args: argparse.Namespace, queue_id: int) -> int:
    say(args, {"queue_id": queue_id, "name": args.queue}, str(queue_id))
    return DONE
