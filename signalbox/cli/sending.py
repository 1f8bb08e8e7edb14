"""The command `signalbox send`."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Iterator
from typing import cast

from signalbox.calls.sending import Refused, SendOptions
from signalbox.cli.command import DONE, REFUSED, Commands, add, as_json, given_options, say
from signalbox.errors import InvalidArgument
from signalbox.verbs import Verbs

#: Lines that go together in one call.
LINES_TOGETHER = 500

_OPTIONS = ("priority", "delay_seconds", "group_id", "deduplication_id", "trace_id", "correlation_id")


def add_commands(commands: Commands) -> None:
    """`send`, with all that can be said of a message."""
    parser = add(commands, "send", send, "Send one message, or with --lines one for each line of standard input.")
    parser.add_argument("queue", metavar="QUEUE")
    parser.add_argument("payload", nargs="?", metavar="JSON", help="the payload; -, or nothing: standard input")
    parser.add_argument("--lines", action="store_true", help="each line of standard input is a payload")
    parser.add_argument("--attributes", metavar="JSON", help="small facts about the payload, as an object")
    parser.add_argument("--priority", type=int, metavar="N", help="0 (the default) to 9, higher first")
    parser.add_argument("--delay", type=float, metavar="S", dest="delay_seconds", help="seconds to rest first")
    parser.add_argument("--group", metavar="ID", dest="group_id", help="the group, for order or limits")
    parser.add_argument("--dedup", metavar="ID", dest="deduplication_id", help="sent again with it, it is the first")
    parser.add_argument("--trace-id", metavar="ID")
    parser.add_argument("--correlation-id", metavar="ID")


def send(verbs: Verbs, args: argparse.Namespace) -> int:
    """Print the id of what was sent."""
    options = cast("SendOptions", given_options(args, *_OPTIONS))
    if args.attributes is not None:
        options["attributes"] = as_json(args.attributes, "attributes")
    if args.lines:
        return _send_lines(verbs, args, options)
    text = sys.stdin.read() if args.payload in (None, "-") else args.payload
    message_id = verbs.send(args.queue, as_json(text, "payload"), **options)
    say(args, {"message_id": message_id}, str(message_id))
    return DONE


def _send_lines(verbs: Verbs, args: argparse.Namespace, options: SendOptions) -> int:
    """Send each line by itself: a refused line is reported with its number, and the others are sent."""
    refused = 0
    for numbered in _together(enumerate(sys.stdin, start=1)):
        good, errors = _read(numbered)
        sent = verbs.send_each(args.queue, [(payload, options) for payload in good.values()])
        for number, answer in {**errors, **dict(zip(good, sent, strict=True))}.items():
            if isinstance(answer, int):
                say(args, {"line": number, "message_id": answer}, str(answer))
            else:
                sys.stderr.write(f"signalbox: line {number}: {answer}\n")
                refused += 1
    return REFUSED if refused else DONE


def _together(lines: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Lines that say something, some at a time."""
    said = ((number, line) for number, line in lines if line.strip())
    while some := list(itertools.islice(said, LINES_TOGETHER)):
        yield some


def _read(numbered: list[tuple[int, str]]) -> tuple[dict[int, object], dict[int, Refused]]:
    """The payloads by the numbers of their lines, and what is wrong with other lines."""
    good: dict[int, object] = {}
    errors: dict[int, Refused] = {}
    for number, line in numbered:
        try:
            good[number] = as_json(line, "payload")
        except InvalidArgument as error:
            errors[number] = error
    return good, errors
