"""The request for a replay, the arguments that say it, and the answers of `manage.py pipeline replay`."""

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
class Wanted:
    """The messages to send again, and how."""

    filter_text: str
    options: Options
    kinds: Sequence[str] = ("settled",)
    since: datetime | None = None
    until: datetime | None = None
    """Of what ended from `since` on and before `until`."""
    reason: str = ""


def add(parser: ArgumentParser) -> None:
    """The arguments of the verb."""
    parser.add_argument(
        "filter", metavar="FILTER", help="which messages; an empty one chooses all (docs/operate/filters.md)"
    )
    parser.add_argument("--target", required=True, metavar="QUEUE", help="the queue that they are to be sent to")
    parser.add_argument(
        "--kind", action="append", choices=[*KINDS], help="settled messages, dead letters; may be given twice (settled)"
    )
    parser.add_argument(
        "--since", metavar="TIME", help="of what ended from then on, in UTC: 2026-01-31 or 2026-01-31T10:30"
    )
    parser.add_argument("--until", metavar="TIME", help="and before then")
    parser.add_argument("--rate", type=int, metavar="N", help="messages a second (no limit)")
    parser.add_argument("--canary", type=int, default=CANARY_MESSAGES, metavar="N", help=CANARY_HELP)
    parser.add_argument("--reason", default="", help="kept in the audit")


def wanted(options: dict[str, Any]) -> Wanted:
    """Read the wanted replay. Raises `InvalidArgument` with the field."""
    since, until = (_moment(options[name], name) for name in ("since", "until"))
    chosen = Options(target_queue=options["target"], rate_per_second=options["rate"], canary_messages=options["canary"])
    kinds = list(dict.fromkeys(options["kind"] or ["settled"]))
    return Wanted(options["filter"], chosen, kinds, since, until, options["reason"])


def from_wanted(wanted: Wanted) -> dict[str, Any]:
    """The options that say this, as JSON can hold them."""
    chosen = wanted.options
    return {
        "filter": wanted.filter_text,
        "target": chosen.target_queue,
        "kind": list(wanted.kinds),
        "since": wanted.since and f"{wanted.since:%Y-%m-%dT%H:%M:%S.%fZ}",
        "until": wanted.until and f"{wanted.until:%Y-%m-%dT%H:%M:%S.%fZ}",
        "rate": chosen.rate_per_second,
        "canary": chosen.canary_messages,
        "reason": wanted.reason,
    }


def answer(plan: Any, run: Run) -> tuple[dict[str, Any], Sequence[str]]:
    """Write the answer (for programs, for people)."""
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
        lines.append(f"  {bodiless:,} more are left out: the archive has no body of theirs")
    if impact.large_bodies_gone:
        lines.append(f"  {impact.large_bodies_gone:,} cannot go: their large body is in the store no more")
    if impact.dealt_with:
        lines.append(f"  {impact.dealt_with:,} more are left out: still dead here, or sent again since")
    if plan.count:
        lines.append(f"nothing is sent yet: manage.py redrive run {plan.pk}")
    return document, lines


def underlined(text: str, error: FilterError) -> str:
    """The filter with its mistake marked."""
    marks = " " * error.position + "^" * max(1, error.length)
    return f"filter: {error}\n  {text}\n  {marks}"


def _moment(text: str | None, field: str) -> datetime | None:
    if not text:
        return None
    try:
        return moment(text).start
    except MisreadError as error:
        raise InvalidArgument(f"{field} must be {error}", field) from None
