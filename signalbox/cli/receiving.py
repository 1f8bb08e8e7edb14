"""`signalbox receive`, and what becomes of a delivery: `ack`, `nack`, `extend`."""

from __future__ import annotations

import argparse
import json
import sys
from typing import cast

from signalbox.cli.command import DONE, NOTHING, Commands, add, as_json, given_options, say
from signalbox.messages import FAILURE_REASONS, Message
from signalbox.statements import NackOptions
from signalbox.unreadable import Unreadable
from signalbox.verbs import Verbs


def add_commands(commands: Commands) -> None:
    """The commands of a consumer."""
    parser = add(commands, "receive", receive, "Lease messages and print them, one on a line. Ends with 3 for none.")
    parser.add_argument("queue", metavar="QUEUE")
    parser.add_argument("--max", type=int, default=1, metavar="N", help="messages at most (1)")
    parser.add_argument("--wait", type=float, default=0.0, metavar="S", help="seconds to wait for the first (0)")
    parser.add_argument("--visibility-timeout", type=float, metavar="S", help="seconds of the lease (the queue's)")
    parser.add_argument("--consumer", metavar="NAME", help="your name in the console")
    parser.add_argument("--ack", action="store_true", help="ack what was printed")
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
    parser = add(commands, "extend", extend, "Let a lease end so many seconds from now; 0 gives the message back.")
    parser.add_argument("handle", metavar="HANDLE")
    parser.add_argument("seconds", type=float, metavar="SECONDS")


def receive(verbs: Verbs, given: argparse.Namespace) -> int:
    """Print id, delivery, receipt handle and payload of each message."""
    messages = verbs.receive(
        given.queue,
        given.max,
        visibility_timeout=given.visibility_timeout,
        consumer=given.consumer,
        wait_seconds=given.wait,
    )
    for message in messages:
        payload = verbs.fetch(message)
        if isinstance(payload, Unreadable):
            text, payload = payload.text, None
        else:
            text = json.dumps(payload, ensure_ascii=False)
        line = f"{message.id}\t{message.receive_count}\t{message.receipt_handle}\t{text}"
        say(given, _document(message, payload), line)
    sys.stdout.flush()  # what nobody could read is not acked
    if given.ack and (read := [message for message in messages if message.unreadable is None]):
        verbs.ack_batch(read)
    return DONE if messages else NOTHING


def _document(message: Message, payload: object) -> dict[str, object]:
    return {**message.to_json(), "payload": payload, "correlation_id": message.correlation_id}


def ack(verbs: Verbs, given: argparse.Namespace) -> int:
    """Print what became of each handle."""
    result = None if given.result is None else as_json(given.result, "result")
    acked = verbs.ack_batch(given.handles, results=[result] * len(given.handles))
    for handle, held in acked.items():
        say(given, {"receipt_handle": handle, "acked": held}, f"{'acked' if held else 'lost'}\t{handle}")
    return DONE if all(acked.values()) else NOTHING


def nack(verbs: Verbs, given: argparse.Namespace) -> int:
    """Print what becomes of the message."""
    options = cast("NackOptions", given_options(given, "delay_seconds", "reason", "error_class", "error"))
    if given.state is not None:
        options["state"] = as_json(given.state, "state")
    fate = verbs.nack(given.handle, **options)
    say(given, {"receipt_handle": given.handle, "outcome": fate}, fate or "lost")
    return DONE if fate else NOTHING


def extend(verbs: Verbs, given: argparse.Namespace) -> int:
    """Print the new deadline."""
    deadline = verbs.change_visibility(given.handle, given.seconds)
    at = deadline and deadline.isoformat()
    say(given, {"receipt_handle": given.handle, "deadline": at}, at or "lost")
    return DONE if deadline else NOTHING
