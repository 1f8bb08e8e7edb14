"""What a command is: its arguments, and a function that does it and says how it ended."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from signalbox.errors import InvalidArgument
from signalbox.verbs import Verbs

#: How a command ends: done, refused, misunderstood (argparse's own), nothing there, nobody answered.
DONE = 0
REFUSED = 1
NOTHING = 3
UNAVAILABLE = 4
#: By Ctrl-C, as shells have it.
INTERRUPTED = 130

#: Does a command with its parsed arguments; how it ended.
Run = Callable[[Verbs, argparse.Namespace], int]


if TYPE_CHECKING:
    #: Where commands are added: what `add_subparsers` returns. It has no public name.
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Commands = Any


def add(commands: Commands, name: str, run: Run, about: str) -> argparse.ArgumentParser:
    """A command of this name; its further arguments are the caller's to add."""
    parser = commands.add_parser(name, help=about, description=about)
    parser.set_defaults(run=run)
    return parser


def say(given: argparse.Namespace, document: Mapping[str, Any], text: str) -> None:
    """A line of the answer: for people, or with --json for programs."""
    line = json.dumps(document, ensure_ascii=False, default=str) if given.json else text
    sys.stdout.write(line + "\n")


def as_json(text: str, field: str) -> Any:
    """The value that this text is in JSON. Raises InvalidArgument."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{field} is not JSON: {error}", field=field) from error


def given_options(given: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Those of these options that were given."""
    return {name: getattr(given, name) for name in names if getattr(given, name) is not None}
