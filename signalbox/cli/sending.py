"""The command `signalbox send`."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import cast

from signalbox.calls.sending import Refused, SendOptions
from signalbox.cli.command import (
    DONE,
    LINES_TOGETHER,
    REFUSED,
    Commands,
    add,
    add_binary,
    as_json,
    given_options,
    payload_of,
    say,
)
from signalbox.errors import InvalidArgument
from signalbox.verbs import Verbs

_OPTIONS = (
    "content_type",
    "priority",
    "delay_seconds",
    "group_id",
    "deduplication_id",
    "trace_id",
    "correlation_id",
    "expires_at",
    "max_receives",
)


def add_commands(commands: Commands) -> None:
    """Add the command `send` with its options."""
    parser = add(commands, send)
    parser.add_argument("queue", metavar="QUEUE")
    parser.add_argument("payload", nargs="?", metavar="JSON", help="the payload; - or none: read standard input")
    parser.add_argument("--lines", action="store_true", help="send each line of standard input as a payload")
    add_binary(parser)
    parser.add_argument("--attributes", metavar="JSON", help="attributes of the message, as a JSON object")
    parser.add_argument("--priority", type=int, metavar="N", help="0 to 32767, the highest first (default 0)")
    delay = "seconds until the first delivery (default: the queue's delay)"
    parser.add_argument("--delay", type=float, metavar="S", dest="delay_seconds", help=delay)
    parser.add_argument("--group", metavar="ID", dest="group_id", help="message group, for order or limits")
    counted = "print also how many messages wait in the group, or - where it has no order"
    parser.add_argument("--count-group", action="store_true", help=counted)
    deduplication = "deduplication id: a second message with it is not sent"
    parser.add_argument("--dedup", metavar="ID", dest="deduplication_id", help=deduplication)
    expiry = "time after which it is not delivered, in ISO 8601 with its zone"
    parser.add_argument("--expires-at", type=datetime.fromisoformat, metavar="TIME", help=expiry)
    most = "deliveries before it is a dead letter (default: the queue's max_receives)"
    parser.add_argument("--max-receives", type=int, metavar="N", help=most)
    parser.add_argument("--trace-id", metavar="ID", help="trace id of the message (default: that of the current span)")
    parser.add_argument("--correlation-id", metavar="ID", help="id that connects related messages")


def send(verbs: Verbs, args: argparse.Namespace) -> int:
    """Send one message, or with --lines one for each line of standard input, and print each id."""
    options = cast("SendOptions", given_options(args, *_OPTIONS))
    if args.attributes is not None:
        options["attributes"] = as_json(args.attributes, "attributes")
    if args.lines:
        return _send_lines(verbs, args, options)
    if args.count_group:
        counted = verbs.send_counted(args.queue, payload_of(args), **options)
        text = f"{counted.id}\t{'-' if counted.group_waiting is None else counted.group_waiting}"
        say(args, {"message_id": counted.id, "group_waiting": counted.group_waiting}, text)
        return DONE
    message_id = verbs.send(args.queue, payload_of(args), **options)
    say(args, {"message_id": message_id}, str(message_id))
    return DONE


def _send_lines(verbs: Verbs, args: argparse.Namespace, options: SendOptions) -> int:
    """Send each line by itself: a refused line is reported with its number, and the others are sent."""
    refused = 0
    for numbered in _groups_of(enumerate(sys.stdin, start=1)):
        good, errors = _read(numbered)
        sent = verbs.send_each(args.queue, [(payload, options) for payload in good.values()])
        for number, answer in {**errors, **dict(zip(good, sent, strict=True))}.items():
            if isinstance(answer, int):
                say(args, {"line": number, "message_id": answer}, str(answer))
            else:
                sys.stderr.write(f"signalbox: line {number}: {answer}\n")
                refused += 1
    return REFUSED if refused else DONE


def _groups_of(lines: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Group the lines that are not empty, LINES_TOGETHER at a time."""
    filled = ((number, line) for number, line in lines if line.strip())
    while group := list(itertools.islice(filled, LINES_TOGETHER)):
        yield group


def _read(numbered: list[tuple[int, str]]) -> tuple[dict[int, object], dict[int, Refused]]:
    """Parse the payload of each line; returns payloads and errors, both by line number."""
    good: dict[int, object] = {}
    errors: dict[int, Refused] = {}
    for number, line in numbered:
        try:
            good[number] = as_json(line, "payload")
        except InvalidArgument as error:
            errors[number] = error
    return good, errors
