"""The base of every command: its arguments, and the function that runs it and returns its exit status."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signalbox.errors import InvalidArgument
from signalbox.verbs import Verbs

#: Exit statuses: done, refused, nothing found, no answer. Wrong usage ends with 2, the status of argparse.
DONE = 0
REFUSED = 1
NOTHING = 3
UNAVAILABLE = 4
#: The status that shells use for a program ended by Ctrl-C.
INTERRUPTED = 130

#: The number of lines that one call sends or appends.
LINES_TOGETHER = 500

#: A function that runs a command with its parsed arguments and returns the exit status.
Run = Callable[[Verbs, argparse.Namespace], int]


if TYPE_CHECKING:
    #: The result of `add_subparsers`, to which commands are added; its class has no public name.
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Commands = Any


def add(commands: Commands, run: Run) -> argparse.ArgumentParser:
    """Add the command of a function, with its name and its docstring; the caller adds the arguments."""
    name = run.__name__.rstrip("_").replace("_", "-")
    parser = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
    parser.set_defaults(run=run)
    return parser


def say(args: argparse.Namespace, document: Mapping[str, Any], text: str) -> None:
    """Print one line of output: text, or with --json a JSON object."""
    line = json.dumps(document, ensure_ascii=False, default=str) if args.json else text
    sys.stdout.write(line + "\n")


def add_binary(parser: argparse.ArgumentParser) -> None:
    """Add the options of a payload of bytes."""
    parser.add_argument("--file", metavar="PATH", help="send the bytes of this file as a binary payload")
    text = "type of the bytes of --file or standard input, such as image/png; makes the payload binary"
    parser.add_argument("--content-type", metavar="TYPE", help=text)


def payload_of(args: argparse.Namespace) -> object:
    """Read the payload of a command: bytes with --file or --content-type, otherwise JSON. Raises InvalidArgument."""
    if args.file is not None:
        if args.payload is not None:
            raise InvalidArgument("payload is given twice: as JSON and with --file", field="payload")
        try:
            return Path(args.file).read_bytes()
        except OSError as error:
            raise InvalidArgument(f"file cannot be read: {error}", field="file") from error
    is_input = args.payload in (None, "-")
    if args.content_type is not None and is_input:
        return sys.stdin.buffer.read()
    return as_json(sys.stdin.read() if is_input else str(args.payload), "payload")


def as_json(text: str, field: str) -> Any:
    """Read a text as JSON. Raises InvalidArgument."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{field} is not JSON: {error}", field=field) from error


def given_options(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Select the options among these names that the command line has."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def settings_of(assignments: list[str]) -> dict[str, object]:
    """Read assignments; a value is JSON, or else text."""
    settings: dict[str, object] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise InvalidArgument(f"--set must be NAME=VALUE, not {text!r}", field="settings")
        try:
            settings[name] = json.loads(value)
        except (ValueError, RecursionError):
            settings[name] = value
    return settings
