"""`signalbox outcome`: where a message stands, and waiting for its end."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from signalbox.cli.command import DONE, NOTHING, Commands, add, say
from signalbox.errors import MessageNotFound, NotSettled
from signalbox.verbs import Verbs


def add_commands(commands: Commands) -> None:
    """`outcome`."""
    parser = add(
        commands, "outcome", outcome, "Say where a message stands and how it ended. Ends with 3 where nobody knows it."
    )
    parser.add_argument("message_id", type=int, metavar="MESSAGE_ID")
    parser.add_argument("--wait", type=float, metavar="S", help="wait for its end, at most so many seconds")


def outcome(verbs: Verbs, given: argparse.Namespace) -> int:
    """Print it; with --wait, ends with 3 when the time is over as well."""
    ended = DONE
    try:
        if given.wait is None:
            found = verbs.message_outcome(given.message_id)
        else:
            found = verbs.wait_settled(given.message_id, timeout=given.wait)
    except NotSettled as error:
        found, ended = error.outcome, NOTHING
    except MessageNotFound:
        found = None
    if found is None:
        say(given, {"message_id": given.message_id, "status": None}, f"nothing is known of message {given.message_id}")
        return NOTHING
    say(given, asdict(found), f"{found.status}\t{found.queue}\t{found.outcome or '-'}")
    return ended
