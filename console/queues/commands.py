"""manage.py queues drain | delete | rename | restored: the rare verbs of a queue, from a terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

from console.queues.forms import DAY_SECONDS
from console.queues.renaming_views import consequences
from dlq.jobs.renaming import rename_queue
from queues.commands import ACTOR
from queues.control import deletion, queues, restoring
from queues.control.clock import TOLERATED_SECONDS
from queues.control.renaming import GRACE_SECONDS, free_name
from queues.counters.queue_numbers import read_numbers
from queues.errors import InvalidArgument

LOOK_SECONDS = 1.0
NOT_EMPTY = 1
LEFT = ("ready", "leased", "scheduled", "waiting", "dead")


def add_arguments(verbs: Any) -> None:
    """Add the verbs to the parser of `manage.py queues`."""
    add = verbs.add_parser
    parser = add("drain", help="close a queue for sends, and print its numbers of messages")
    parser.add_argument("name")
    parser.add_argument(
        "--wait", type=float, default=0.0, metavar="SECONDS", help=("wait until the queue is empty, at most this long")
    )
    _end(parser, drain)
    parser = add("delete", help="delete an empty, unused queue")
    parser.add_argument("name")
    _end(parser, delete)
    parser = add("rename", help="rename a queue; the old name works for a time")
    parser.add_argument("name")
    parser.add_argument("new_name", nargs="?")
    days = GRACE_SECONDS / DAY_SECONDS
    parser.add_argument("--grace-days", type=float, default=days, help=f"how long the old name works ({days:g})")
    parser.add_argument("--check", action="store_true", help="show the changes without making them")
    parser.add_argument("--free", action="store_true", help="NAME is an old name: free it for another queue")
    _end(parser, rename)
    parser = add("restored", help="prepare a database that was just restored, before processes use it")
    skipped = f"ids to skip, because they may have been used since the backup ({restoring.SKIP_IDS:,})"
    parser.add_argument("--skip-ids", type=int, default=restoring.SKIP_IDS, metavar="N", help=skipped)
    _end(parser, restored)


def _end(parser: Any, run: Any) -> None:
    parser.add_argument("--reason", default="", help="kept in the audit")
    parser.set_defaults(run=run)


def drain(out: Any, options: dict[str, Any]) -> None:
    """Close the queue and wait until it is empty. Exits with 1 if messages are left. Raises `QueueNotFound`."""
    name = options["name"]
    queues.configure_queue(name, {"closed": True}, actor=ACTOR, reason=options["reason"])
    queue_id = queues.get_queue(name).queue_id
    ends_at = time.monotonic() + options["wait"]
    said = None
    while True:
        numbers = read_numbers([queue_id])[0]
        left = ", ".join(f"{getattr(numbers, state):,} {state}" for state in LEFT if getattr(numbers, state))
        if left != said:
            out.write(f"{name}: {left or 'empty'}")
            out.flush()
            said = left
        if not left:
            return
        if time.monotonic() >= ends_at:
            sys.exit(NOT_EMPTY)
        time.sleep(LOOK_SECONDS)


def delete(out: Any, options: dict[str, Any]) -> None:
    """Delete the queue. Raises `QueueInUse`, which says what uses the queue, and `QueueNotFound`."""
    deletion.delete_queue(options["name"], actor=ACTOR, reason=options["reason"])
    out.write(f"{options['name']} is deleted.")


def rename(out: Any, options: dict[str, Any]) -> None:
    """Print the consequences, and rename the queue. Raises `QueueNotFound`, `QueueInUse` and `InvalidArgument`."""
    name, new_name = options["name"], options["new_name"]
    if options["free"]:
        freed = free_name(name, actor=ACTOR, reason=options["reason"])
        out.write(f"{name} is free." if freed else f"{name} is no old name of a queue.")
        return
    if not new_name:
        raise InvalidArgument("new_name is missing", "new_name")
    found = consequences(queues.get_queue(name), new_name)
    for heading, lines in (("In the way", found.in_the_way), ("Follows", found.follows), ("Stays", found.stays)):
        if lines:
            out.write("\n  ".join([f"{heading}:", *lines]))
    if not options["check"]:
        seconds = options["grace_days"] * DAY_SECONDS
        rename_queue(name, new_name, seconds, actor=ACTOR, reason=options["reason"])
        out.write(f"Renamed {name} to {new_name}.")


def restored(out: Any, options: dict[str, Any]) -> None:
    """Prepare a restored database, and print what was done. Raises `InvalidArgument`."""
    done = restoring.restored(options["skip_ids"], actor=ACTOR, reason=options["reason"])
    other = "The backup is of another PostgreSQL cluster: counters and the archive horizon were reset."
    out.write(other if done.from_elsewhere else "The backup is of this PostgreSQL cluster: counters are kept.")
    out.write(f"Message ids were at {done.last_id:,} and continue after {done.next_id:,}.")
    if done.clock_ahead_seconds > TOLERATED_SECONDS:
        out.write(f"The engine's clock was {done.clock_ahead_seconds:,.0f} s ahead of the server's, and was reset.")
    if done.leased and done.leased_until:
        until = done.leased_until.isoformat(timespec="seconds")
        out.write(f"{done.leased:,} messages are in flight, the last until {until}; then they are delivered again.")
    out.write("Start manage.py upkeep, then the other processes.")
