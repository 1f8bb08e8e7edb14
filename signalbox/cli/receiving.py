"""The commands of a consumer, and the outcome of a message: `receive`, `ack`, `nack`, `defer`, `extend`, `outcome`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import cast

from signalbox.calls.settling import NackOptions
from signalbox.cli.command import DONE, NOTHING, Commands, add, as_json, given_options, say
from signalbox.errors import MessageNotFound, NotSettled
from signalbox.messages import FAILURE_REASONS, Message
from signalbox.payloads.binary import json_value
from signalbox.payloads.unreadable import Unreadable
from signalbox.verbs import Verbs


def add_commands(commands: Commands) -> None:
    """Add the commands of a consumer, and the command that prints how a message ended."""
    parser = add(commands, receive)
    parser.add_argument("queue", metavar="QUEUE")
    parser.add_argument("--max", type=int, default=1, metavar="N", help="maximum number of messages (default 1)")
    parser.add_argument("--wait", type=float, default=0.0, metavar="S", help="seconds to wait for one (default 0)")
    parser.add_argument("--visibility-timeout", type=float, metavar="S", help="seconds of the lease (queue's setting)")
    parser.add_argument("--consumer", metavar="NAME", help="name of this consumer in the console")
    parser.add_argument("--ack", action="store_true", help="acknowledge the printed messages")
    parser = add(commands, ack)
    parser.add_argument("handles", nargs="+", metavar="HANDLE")
    parser.add_argument("--result", metavar="JSON", help="result of each message, kept for its sender")
    parser = add(commands, nack)
    parser.add_argument("handle", metavar="HANDLE")
    delay = "seconds until the retry (default: the queue's backoff)"
    parser.add_argument("--delay", type=float, metavar="S", dest="delay_seconds", help=delay)
    reason = "why the delivery failed; rejected: no retry (default runtime_error)"
    parser.add_argument("--reason", choices=FAILURE_REASONS, help=reason)
    parser.add_argument("--error-class", metavar="NAME", help="class of the error, for example ValueError")
    parser.add_argument("--error", metavar="TEXT", help="message of the error")
    parser.add_argument("--state", metavar="JSON", help="state for the next delivery")
    parser = add(commands, defer)
    parser.add_argument("handle", metavar="HANDLE")
    parser.add_argument("seconds", type=float, metavar="SECONDS")
    parser.add_argument("--state", metavar="JSON", help="state for the next delivery")
    parser = add(commands, extend)
    parser.add_argument("handle", metavar="HANDLE")
    parser.add_argument("seconds", type=float, metavar="SECONDS")
    parser = add(commands, outcome)
    parser.add_argument("message_id", type=int, metavar="MESSAGE_ID")
    parser.add_argument("--wait", type=float, metavar="S", help="seconds to wait until the message has ended")


def receive(verbs: Verbs, args: argparse.Namespace) -> int:
    """Lease messages; print id, delivery, receipt handle and payload. Exit status 3: no message."""
    lease_seconds, consumer = args.visibility_timeout, args.consumer
    messages = verbs.receive(
        args.queue, args.max, visibility_timeout=lease_seconds, consumer=consumer, wait_seconds=args.wait
    )
    for message in messages:
        payload = json_value(verbs.fetch(message))
        if isinstance(payload, Unreadable):
            text, payload = payload.text, None
        else:
            text = json.dumps(payload, ensure_ascii=False)
        line = f"{message.id}\t{message.receive_count}\t{message.receipt_handle}\t{text}"
        say(args, {**message.to_json(), "payload": payload, **_marks(message)}, line)
    sys.stdout.flush()  # a message that was not written is not acked
    if args.ack and (read := [message for message in messages if message.unreadable is None]):
        verbs.ack_batch(read)
    return DONE if messages else NOTHING


def _marks(message: Message) -> dict[str, str | None]:
    return {"correlation_id": message.correlation_id, "content_type": message.content_type}


def ack(verbs: Verbs, args: argparse.Namespace) -> int:
    """Acknowledge messages as done. Exit status 3: a lease was no longer held."""
    result = None if args.result is None else as_json(args.result, "result")
    acked = verbs.ack_batch(args.handles, results=[result] * len(args.handles))
    for handle, held in acked.items():
        say(args, {"receipt_handle": handle, "acked": held}, f"{'acked' if held else 'lost'}\t{handle}")
    return DONE if all(acked.values()) else NOTHING


def nack(verbs: Verbs, args: argparse.Namespace) -> int:
    """Record a failed delivery and print retry or dead. Exit status 3: the lease was no longer held."""
    options = cast("NackOptions", given_options(args, "delay_seconds", "reason", "error_class", "error"))
    if args.state is not None:
        options["state"] = as_json(args.state, "state")
    outcome_of_nack = verbs.nack(args.handle, **options)
    say(args, {"receipt_handle": args.handle, "outcome": outcome_of_nack}, outcome_of_nack or "lost")
    return DONE if outcome_of_nack else NOTHING


def defer(verbs: Verbs, args: argparse.Namespace) -> int:
    """Put a message off, without a failure, and print when it is due. Exit status 3: the lease was no longer held."""
    state = None if args.state is None else as_json(args.state, "state")
    due_at = verbs.defer(args.handle, args.seconds, state=state)
    text = due_at and due_at.isoformat()
    say(args, {"receipt_handle": args.handle, "due_at": text}, text or "lost")
    return DONE if due_at else NOTHING


def extend(verbs: Verbs, args: argparse.Namespace) -> int:
    """Set the end of a lease, in seconds from now; 0 gives the message back. Exit status 3: no longer held."""
    deadline = verbs.change_visibility(args.handle, args.seconds)
    text = deadline and deadline.isoformat()
    say(args, {"receipt_handle": args.handle, "deadline": text}, text or "lost")
    return DONE if deadline else NOTHING


def outcome(verbs: Verbs, args: argparse.Namespace) -> int:
    """Print the state of a message and how it ended. Exit status 3: it is unknown, or --wait is over."""
    exit_status = DONE
    try:
        if args.wait is None:
            known = verbs.message_outcome(args.message_id)
        else:
            known = verbs.wait_settled(args.message_id, timeout=args.wait)
    except NotSettled as error:
        known, exit_status = error.outcome, NOTHING
    except MessageNotFound:
        known = None
    if known is None:
        say(args, {"message_id": args.message_id, "status": None}, f"message {args.message_id} is unknown")
        return NOTHING
    say(args, asdict(known), f"{known.status}\t{known.queue}\t{known.outcome or '-'}")
    return exit_status
