"""manage.py queues restored: what comes first after a backup was restored."""

from __future__ import annotations

from typing import Any

from queues import restoring
from queues.clock import TOLERATED_SECONDS

ACTOR = "manage.py"


def add_arguments(verbs: Any) -> None:
    """The verb for the parser of `manage.py queues`."""
    restored = verbs.add_parser(
        "restored", help="make a database ready that was just restored from a backup, before anything works on it"
    )
    restored.add_argument(
        "--skip-ids",
        type=int,
        default=restoring.SKIP_IDS,
        metavar="N",
        help=f"ids that may have been drawn since the backup, and are passed over ({restoring.SKIP_IDS:,})",
    )
    restored.add_argument("--reason", default="", help="kept in the audit: which backup, say")


def restored(out: Any, options: dict[str, Any]) -> None:
    """Do it, and say what was done; raises `InvalidArgument`."""
    done = restoring.restored(options["skip_ids"], actor=ACTOR, reason=options["reason"])
    elsewhere = "The backup is of another cluster: counters and the archive's horizon are put right."
    out.write(elsewhere if done.from_elsewhere else "The backup is of this cluster: counters hold.")
    out.write(f"Message ids were at {done.last_id:,} and go on behind {done.next_id:,}.")
    if done.clock_ahead_seconds > TOLERATED_SECONDS:
        out.write(f"The engine's clock was {done.clock_ahead_seconds:,.0f} s ahead of the server's, and was reset.")
    if done.leased and done.leased_until:
        until = done.leased_until.isoformat(timespec="seconds")
        out.write(f"{done.leased:,} messages are in consumers' hands, the last until {until}; then they come again.")
    out.write("Start manage.py upkeep, then the rest.")
