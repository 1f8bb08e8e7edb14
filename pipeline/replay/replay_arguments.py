"""Requests for replays, and the arguments and answers of `manage.py pipeline replay`."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dlq.filters import FilterError
from dlq.filters.readings import MisreadError, moment
from dlq.redrives.plan_options import CANARY_MESSAGES, Options
from pipeline.models import Run
from pipeline.replay.choosing import KINDS
from queues.errors import InvalidArgument

CANARY_HELP = f"send N messages first and wait for their outcomes (default: {CANARY_MESSAGES}; 0: no canary)"


@dataclass(frozen=True)
class ReplayRequest:
    """Request for a replay: a filter, the kinds and times of messages to select, and options of the redrive plan."""

    filter_text: str
    options: Options
    kinds: Sequence[str] = ("settled",)
    since: datetime | None = None
    until: datetime | None = None
    """Only messages that ended at `since` or later, and before `until`, are selected."""
    reason: str = ""


def add(parser: ArgumentParser) -> None:
    """Add the arguments of the verb to its parser."""
    parser.add_argument(
        "filter", metavar="FILTER", help="filter for messages; '' selects all (docs/operate/filters.md)"
    )
    parser.add_argument("--target", required=True, metavar="QUEUE", help="queue to send the messages to")
    parser.add_argument(
        "--kind", action="append", choices=[*KINDS], help="kind of messages, may be repeated (default: settled)"
    )
    parser.add_argument(
        "--since", metavar="TIME", help="select messages that ended at this time (UTC) or later, as 2026-01-31T10:30"
    )
    parser.add_argument("--until", metavar="TIME", help="select messages that ended before this time (UTC)")
    parser.add_argument("--rate", type=int, metavar="N", help="messages per second (default: no limit)")
    parser.add_argument("--canary", type=int, default=CANARY_MESSAGES, metavar="N", help=CANARY_HELP)
    parser.add_argument("--reason", default="", help="reason to record in the audit")


def request_from(options: dict[str, Any]) -> ReplayRequest:
    """Read a request from the command's options. Raises `InvalidArgument`, which names the field."""
    since, until = (_moment(options[name], name) for name in ("since", "until"))
    plan = Options(target_queue=options["target"], rate_per_second=options["rate"], canary_messages=options["canary"])
    kinds = list(dict.fromkeys(options["kind"] or ["settled"]))
    return ReplayRequest(options["filter"], plan, kinds, since, until, options["reason"])


def to_options(request: ReplayRequest) -> dict[str, Any]:
    """Return the command's options for a request, as JSON can hold them."""
    return {
        "filter": request.filter_text,
        "target": request.options.target_queue,
        "kind": list(request.kinds),
        "since": request.since and f"{request.since:%Y-%m-%dT%H:%M:%S.%fZ}",
        "until": request.until and f"{request.until:%Y-%m-%dT%H:%M:%S.%fZ}",
        "rate": request.options.rate_per_second,
        "canary": request.options.canary_messages,
        "reason": request.reason,
    }


def answer(plan: Any, run: Run) -> tuple[dict[str, Any], Sequence[str]]:
    """Describe a finished replay: as a JSON document, and as lines for people."""
    bodiless = run.outcome.get("bodiless", 0)
    impact, target = plan.impact, plan.choices.target_queue
    document = {
        "plan": plan.pk,
        "run": run.pk,
        "rows": plan.count,
        "bytes": impact.bytes,
        "without_body": bodiless,
        "large_bodies_gone": impact.large_bodies_gone,
        "dealt_with": impact.dealt_with,
        "filter": plan.filter_text,
        "target": target,
        "sources": impact.sources,
    }
    lines = [f"plan {plan.pk}: {plan.count:,} messages to {target}, {impact.bytes:,} bytes staged"]
    lines += [f"  {number:,} from {name}" for name, number in impact.sources]
    if bodiless:
        lines.append(f"  {bodiless:,} more are left out: the archive does not have their bodies")
    if impact.large_bodies_gone:
        lines.append(f"  {impact.large_bodies_gone:,} cannot be sent: their large bodies were deleted from the store")
    if impact.dealt_with:
        lines.append(f"  {impact.dealt_with:,} more are left out: they are dead letters now, or were sent again")
    if plan.count:
        lines.append(f"nothing is sent yet: manage.py redrive run {plan.pk}")
    return document, lines


def underlined(text: str, error: FilterError) -> str:
    """Mark the mistake in a filter on a line below it."""
    marks = " " * error.position + "^" * max(1, error.length)
    return f"filter: {error}\n  {text}\n  {marks}"


def _moment(text: str | None, field: str) -> datetime | None:
    if not text:
        return None
    try:
        return moment(text).start
    except MisreadError as error:
        raise InvalidArgument(f"{field} must be {error}", field) from None
