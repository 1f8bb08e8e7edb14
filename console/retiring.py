"""manage.py queues drain | delete: the end of a queue from a terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

from queues import control, deleting
from queues.counters import QueueNumbers, read_numbers

LOOK_SECONDS = 1.0
ACTOR = "manage.py"
NOT_EMPTY = 1
LEFT = ("ready", "leased", "scheduled", "waiting", "dead")


def add_arguments(verbs: Any) -> None:
    """The two verbs for the parser of `manage.py queues`."""
    drain = verbs.add_parser("drain", help="close a queue, so that it takes no more, and say what is left in it")
    drain.add_argument("name")
    drain.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="until it is empty, so long at most")
    drain.add_argument("--reason", default="", help="kept in the audit")
    delete = verbs.add_parser("delete", help="delete a queue that is empty and that nothing uses")
    delete.add_argument("name")
    delete.add_argument("--reason", default="", help="kept in the audit")


def drain(out: Any, options: dict[str, Any]) -> None:
    """Close the queue and wait; ends with 1 when something is left. Raises `QueueNotFound`."""
    name = options["name"]
    control.configure_queue(name, {"closed": True}, actor=ACTOR, reason=options["reason"])
    queue_id = control.get_queue(name).queue_id
    ends_at = time.monotonic() + options["wait"]
    said = None
    while True:
        left = _left(read_numbers([queue_id])[0])
        if left != said:
            out.write(f"{name}: {left or 'empty'}")
            out.flush()
            said = left
        if not left:
            return
        if time.monotonic() >= ends_at:
            sys.exit(NOT_EMPTY)
        time.sleep(LOOK_SECONDS)


def _left(numbers: QueueNumbers) -> str:
    return ", ".join(f"{getattr(numbers, state):,} {state}" for state in LEFT if getattr(numbers, state))


def delete(out: Any, options: dict[str, Any]) -> None:
    """Delete it; raises `QueueInUse`, which says what is in the way, and `QueueNotFound`."""
    deleting.delete_queue(options["name"], actor=ACTOR, reason=options["reason"])
    out.write(f"{options['name']} is deleted.")
