"""Streams from a terminal: `signalbox stream create`, `configure`, `append`, `read`, `seek`, `delete` and others."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from dataclasses import asdict
from datetime import datetime
from typing import Any

from signalbox.calls.consumer_groups import StreamMessage
from signalbox.cli.command import (
    DONE,
    LINES_TOGETHER,
    NOTHING,
    Commands,
    Run,
    add,
    add_binary,
    as_json,
    payload_of,
    say,
    settings_of,
)
from signalbox.errors import InvalidArgument
from signalbox.payloads.binary import json_value
from signalbox.payloads.unreadable import Unreadable
from signalbox.verbs import Verbs

_POINTS = ("beginning", "end", "time", "offset")


def add_commands(commands: Commands) -> list[argparse.ArgumentParser]:
    """Add the command `stream`; returns the parsers of its commands."""
    text = "Append to streams, read them in consumer groups, and move groups."
    nested = commands.add_parser("stream", help=text, description=text)
    of_stream = nested.add_subparsers(dest="stream_command", required=True, metavar="COMMAND")
    parser = _of_one(of_stream, create)
    setting = "a setting, such as partitions=8; may be repeated"
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=setting)
    parser = _of_one(of_stream, configure)
    setting = "a setting, such as partitions=8; may be repeated"
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=setting)
    text = "print what more partitions would do, and change nothing"
    parser.add_argument("--dry-run", action="store_true", help=text)
    _of_one(of_stream, rename).add_argument("new_name", metavar="NEW")
    text = "the name again; without it, print what would be lost and delete nothing"
    _of_one(of_stream, delete).add_argument("--typed-name", metavar="STREAM", help=text)
    prefix = "list only streams whose names begin with TEXT"
    add(of_stream, list_).add_argument("--prefix", default="", metavar="TEXT", help=prefix)
    parser = _of_one(of_stream, append)
    parser.add_argument("payload", nargs="?", metavar="JSON", help="the payload; - or none: read standard input")
    parser.add_argument("--lines", action="store_true", help="append each line of standard input, 500 in a batch")
    add_binary(parser)
    parser.add_argument("--key", metavar="KEY", help="messages with one key are read in their order")
    parser.add_argument("--attributes", metavar="JSON", help="attributes of the message, as a JSON object")
    deduplication = "deduplication id: a second message with it is not appended; not with --lines"
    parser.add_argument("--dedup", metavar="ID", dest="deduplication_id", help=deduplication)
    parser = _of_group(of_stream, read)
    parser.add_argument("--max", type=int, default=100, metavar="N", help="maximum number of messages (default 100)")
    parser.add_argument("--wait", type=float, default=0.0, metavar="S", help="seconds to wait for one (default 0)")
    parser.add_argument("--member", metavar="NAME", help="name of this reader (default: host and process)")
    parser.add_argument("--commit", action="store_true", help="commit the printed messages")
    parser = _of_one(of_stream, groups)
    parser.add_argument("--create", metavar="GROUP", help="create this group first, unless it exists")
    _add_point(parser, "--point", _POINTS[:3], default="end")
    text = "let the created group read only what this filter selects"
    parser.add_argument("--filter", metavar="TEXT", help=text)
    parser = _of_group(of_stream, seek)
    _add_point(parser, "point", _POINTS)
    parser.add_argument("--partition", type=int, metavar="N", help="move this partition only")
    parser.add_argument("--position", type=int, metavar="N", help="with offset: the last position that counts as read")
    parser.add_argument("--dry-run", action="store_true", help="print what would move, and move nothing")
    parser = _of_group(of_stream, configure_group)
    setting = "a setting: filter, queue_window, delay_seconds or paused; may be repeated"
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=setting)
    parser.add_argument("--dry-run", action="store_true", help="print what would change, and change nothing")
    return list(of_stream.choices.values())


def _of_one(commands: Commands, run: Run) -> argparse.ArgumentParser:
    parser = add(commands, run)
    parser.add_argument("stream", metavar="STREAM")
    return parser


def _of_group(commands: Commands, run: Run) -> argparse.ArgumentParser:
    parser = _of_one(commands, run)
    parser.add_argument("group", metavar="GROUP")
    return parser


def _add_point(parser: argparse.ArgumentParser, name: str, points: tuple[str, ...], **options: Any) -> None:
    text = "where the group goes on: " + ", ".join(points)
    parser.add_argument(name, choices=points, help=text, **options)
    parser.add_argument("--at", metavar="TIME", help="with time: a time such as 2026-01-31T12:00:00Z")


def create(verbs: Verbs, args: argparse.Namespace) -> int:
    """Create a stream and print its id. Repeating it with equal settings changes nothing."""
    stream_id = verbs.create_stream(args.stream, settings_of(args.set))
    say(args, {"stream_id": stream_id, "name": args.stream}, str(stream_id))
    return DONE


def configure(verbs: Verbs, args: argparse.Namespace) -> int:
    """Change settings of a stream and print its id.

    With --dry-run, print for a number of partitions: how many there are, groups that would read the new ones, the share
    of keys that would move, and messages that the groups have not read yet.
    """
    settings = settings_of(args.set)
    if args.dry_run:
        preview = verbs.preview_partitions(args.stream, _partitions_of(settings))
        say(args, preview._asdict(), "\t".join(str(value) for value in preview))
    else:
        stream_id = verbs.configure_stream(args.stream, settings)
        say(args, {"stream_id": stream_id, "name": args.stream}, str(stream_id))
    return DONE


def _partitions_of(settings: dict[str, object]) -> int:
    partitions = settings.get("partitions")
    if list(settings) != ["partitions"] or not isinstance(partitions, int):
        raise InvalidArgument("--dry-run previews partitions=NUMBER, and nothing else", field="partitions")
    return partitions


def rename(verbs: Verbs, args: argparse.Namespace) -> int:
    """Give a stream another name, and print its id. Appends and reads by the old name are refused at once."""
    stream_id = verbs.rename_stream(args.stream, args.new_name)
    say(args, {"stream_id": stream_id, "name": args.new_name}, str(stream_id))
    return DONE


def delete(verbs: Verbs, args: argparse.Namespace) -> int:
    """Delete a closed stream with its messages and groups, permanently.

    Without --typed-name, print its groups with committed and unread messages, and delete nothing. Exit status 3:
    nothing was deleted.
    """
    if args.typed_name is None:
        for group in verbs.list_groups(args.stream):
            say(args, asdict(group), f"{group.name}\t{group.committed}\t{group.lag_messages}")
        return NOTHING
    if args.typed_name != args.stream:
        raise InvalidArgument(f"typed_name must be {args.stream!r} to confirm", field="typed_name")
    verbs.delete_stream(args.stream)
    return DONE


def list_(verbs: Verbs, args: argparse.Namespace) -> int:
    """List streams by name, with tenant and number of partitions. Exit status 3: no stream."""
    listed = verbs.list_streams(args.prefix)
    for stream in listed:
        say(args, asdict(stream), f"{stream.name}\t{stream.tenant}\t{stream.settings['partitions']}")
    return DONE if listed else NOTHING


def append(verbs: Verbs, args: argparse.Namespace) -> int:
    """Append one message, or with --lines each line of standard input, and print partition and position."""
    attributes = None if args.attributes is None else as_json(args.attributes, "attributes")
    if args.lines and args.deduplication_id is not None:
        raise InvalidArgument("--dedup is the id of one message: it does not go with --lines", field="deduplication_id")
    payloads = _lines() if args.lines else [payload_of(args)]
    for first in range(0, len(payloads), LINES_TOGETHER):
        batch = payloads[first : first + LINES_TOGETHER]
        count = len(batch)
        columns = {
            "keys": [args.key] * count,
            "attributes": [attributes] * count,
            "content_types": [args.content_type] * count,
            "deduplication_ids": [args.deduplication_id] * count,
        }
        for place in verbs.append_batch(args.stream, batch, **columns):
            say(args, place._asdict(), f"{place.partition}\t{place.position}")
    return DONE


def _lines() -> list[object]:
    """Read each line of standard input that is not empty; an error names the line."""
    numbered = [(number, line) for number, line in enumerate(sys.stdin, start=1) if line.strip()]
    return [as_json(line, f"line {number}") for number, line in numbered]


def read(verbs: Verbs, args: argparse.Namespace) -> int:
    """Read messages of a group; print partition, position, key and payload. Exit status 3: no message.

    The next read prints the same messages unless they are committed.
    """
    member = args.member or f"{socket.gethostname()}-{os.getpid()}"
    try:
        messages = verbs.read_stream(args.stream, args.group, member, args.max, wait_seconds=args.wait)
        for message in messages:
            _say_message(args, message)
        sys.stdout.flush()  # a message that was not written is not committed
        committed = not args.commit or verbs.commit_messages(args.stream, args.group, member, messages)
    finally:
        verbs.leave_group(args.stream, args.group, member)
    return DONE if messages and committed else NOTHING


def _say_message(args: argparse.Namespace, message: StreamMessage) -> None:
    unreadable = isinstance(message.payload, Unreadable)
    text = message.payload.text if unreadable else json.dumps(json_value(message.payload), ensure_ascii=False)
    facts = {name: getattr(message, name) for name in ("partition", "position", "key", "attributes", "appended_at")}
    document = {**facts, "payload": None if unreadable else json_value(message.payload)}
    say(args, document, f"{message.partition}\t{message.position}\t{message.key or '-'}\t{text}")


def groups(verbs: Verbs, args: argparse.Namespace) -> int:
    """List the groups of a stream with lag in messages and seconds, and lost messages. Exit status 3: no group."""
    if args.create is not None:
        verbs.create_group(args.stream, args.create, point=args.point, at=_moment(args.at))
        if args.filter is not None:
            verbs.set_group_filter(args.stream, args.create, args.filter)
    listed = verbs.list_groups(args.stream)
    for group in listed:
        line = f"{group.name}\t{group.lag_messages}\t{group.lag_seconds:.1f}\t{group.lost_messages}\t{group.members}"
        say(args, asdict(group), line)
    return DONE if listed else NOTHING


def seek(verbs: Verbs, args: argparse.Namespace) -> int:
    """Move a group to another point; print each partition, its old and new offset, and the messages between."""
    where = {"at": _moment(args.at), "partition": args.partition, "position": args.position}
    for moved in verbs.seek(args.stream, args.group, args.point, dry_run=args.dry_run, **where):
        say(args, moved._asdict(), "\t".join(str(number) for number in moved))
    return DONE


def configure_group(verbs: Verbs, args: argparse.Namespace) -> int:
    """Change settings of a group; print how many of the next unread messages a new filter skips, and of how many.

    Exit status 3: it already has these settings.
    """
    change = verbs.configure_group(args.stream, args.group, settings_of(args.set), dry_run=args.dry_run)
    words = "changed" if change.changed else "unchanged"
    say(args, change._asdict(), f"{words}\t{change.skipped}\t{change.examined}")
    return DONE if change.changed else NOTHING


def _moment(text: str | None) -> datetime | None:
    """Read a time; one without a zone is local."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(f"at is {text[:60]!r}: it must be a time in ISO 8601", field="at") from error
