"""The commands that receive and settle, and the outcome: `receive`, `ack`, `nack`, `extend`, `outcome`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import cast

from signalbox.calls.settling import NackOptions
from signalbox.cli.command import DONE, NOTHING, Commands, add, as_json, given_options, say
from signalbox.errors import MessageNotFound, NotSettled
from signalbox.messages import FAILURE_REASONS
from signalbox.unreadable import Unreadable
from signalbox.verbs import Verbs


def add_commands(commands: Commands) -> None:
    """The commands of a consumer, and the one that says how a message ended."""
    parser = add(commands, "receive", receive, "Lease messages and print them, one on a line. Ends with 3 for none.")
    parser.add_argument("queue", metavar="QUEUE")
    parser.add_argument("--max", type=int, default=1, metavar="N", help="messages at most (1)")
    parser.add_argument("--wait", type=float, default=0.0, metavar="S", help="seconds to wait for the first (0)")
    parser.add_argument("--visibility-timeout", type=float, metavar="S", help="seconds of the lease (the queue's)")
    parser.add_argument("--consumer", metavar="NAME", help="your name in the console")
    parser.add_argument("--ack", action="store_true", help="acknowledge the printed messages")
    parser = add(commands, "ack", ack, "These messages are done with. Ends with 3 where a lease was no longer held.")
    parser.add_argument("handles", nargs="+", metavar="HANDLE")
    parser.add_argument("--result", metavar="JSON", help="what came of each, kept for its sender")
    parser = add(
        commands, "nack", nack, "A delivery failed: prints retry or dead. Ends with 3 where the lease was lost."
    )
    parser.add_argument("handle", metavar="HANDLE")
    parser.add_argument("--delay", type=float, metavar="S", dest="delay_seconds", help="until the retry (backoff)")
    parser.add_argument("--reason", choices=FAILURE_REASONS, help="rejected: no retry (runtime_error)")
    parser.add_argument("--error-class", metavar="NAME")
    parser.add_argument("--error", metavar="TEXT")
    parser.add_argument("--state", metavar="JSON", help="for the next delivery")
    parser = add(commands, "extend", extend, "Let a lease end after this many seconds; 0 gives the message back.")
    parser.add_argument("handle", metavar="HANDLE")
    parser.add_argument("seconds", type=float, metavar="SECONDS")
    parser = add(
        commands,
        "outcome",
        outcome,
        "Print the state of a message and how it ended. Exits with 3 when the message is unknown.",
    )
    parser.add_argument("message_id", type=int, metavar="MESSAGE_ID")
    parser.add_argument("--wait", type=float, metavar="S", help="seconds to wait for its end")


def receive(verbs: Verbs, args: argparse.Namespace) -> int:
    """Print id, delivery, receipt handle and payload of each message."""
    messages = verbs.receive(
        args.queue,
        args.max,
        visibility_timeout=args.visibility_timeout,
        consumer=args.consumer,
        wait_seconds=args.wait,
    )
    for message in messages:
        payload = verbs.fetch(message)
        if isinstance(payload, Unreadable):
            text, payload = payload.text, None
        else:
            text = json.dumps(payload, ensure_ascii=False)
        line = f"{message.id}\t{message.receive_count}\t{message.receipt_handle}\t{text}"
        say(args, {**message.to_json(), "payload": payload, "correlation_id": message.correlation_id}, line)
    sys.stdout.flush()  # a message that was not written is not acked
    if args.ack and (read := [message for message in messages if message.unreadable is None]):
        verbs.ack_batch(read)
    return DONE if messages else NOTHING


def ack(verbs: Verbs, args: argparse.Namespace) -> int:
    """Print the outcome of each handle."""
    result = None if args.result is None else as_json(args.result, "result")
    acked = verbs.ack_batch(args.handles, results=[result] * len(args.handles))
    for handle, held in acked.items():
        say(args, {"receipt_handle": handle, "acked": held}, f"{'acked' if held else 'lost'}\t{handle}")
    return DONE if all(acked.values()) else NOTHING


def nack(verbs: Verbs, args: argparse.Namespace) -> int:
    """Print the outcome of the delivery."""
    options = cast("NackOptions", given_options(args, "delay_seconds", "reason", "error_class", "error"))
    if args.state is not None:
        options["state"] = as_json(args.state, "state")
    fate = verbs.nack(args.handle, **options)
    say(args, {"receipt_handle": args.handle, "outcome": fate}, fate or "lost")
    return DONE if fate else NOTHING


def extend(verbs: Verbs, args: argparse.Namespace) -> int:
    """Print the new deadline."""
    deadline = verbs.change_visibility(args.handle, args.seconds)
    at = deadline and deadline.isoformat()
    say(args, {"receipt_handle": args.handle, "deadline": at}, at or "lost")
    return DONE if deadline else NOTHING


def outcome(verbs: Verbs, args: argparse.Namespace) -> int:
    """Print the state of a message; the exit status is 3 when it is unknown, or --wait is over."""
    ended = DONE
    try:
        if args.wait is None:
            found = verbs.message_outcome(args.message_id)
        else:
            found = verbs.wait_settled(args.message_id, timeout=args.wait)
    except NotSettled as error:
        found, ended = error.outcome, NOTHING
    except MessageNotFound:
        found = None
    if found is None:
        say(args, {"message_id": args.message_id, "status": None}, f"message {args.message_id} is unknown")
        return NOTHING
    say(args, asdict(found), f"{found.status}\t{found.queue}\t{found.outcome or '-'}")
    return ended
