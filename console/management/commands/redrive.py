"""manage.py redrive plan | run | pause | resume | cancel | show: dead letters sent again, from a terminal.

Ends with 0 when what was asked is done, with 1 when it was refused (standard error says why), and with 3 when a job
that was waited for did not come to its end: it stopped by itself, was paused or cancelled, failed, or needs approval.
"""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError

from dlq import outcomes, plans, redrives
from dlq.filters import FilterError
from dlq.models import Job, Plan, Redrive
from dlq.plan_options import Options
from queues.commands import OwnCommand
from queues.errors import SignalboxError

ACTOR = "manage.py"
NOT_AT_ITS_END = 3
TELL_SECONDS = 1.0
# Argument of the command -> option of the plan.
OPTIONS = {
    "rate": "rate_per_second",
    "canary": "canary_messages",
    "canary_per_cluster": "canary_per_cluster",
    "target": "target_queue",
    "max_redrives": "most_redrives",
    "stop_percent": "stop_failed_percent",
    "stop_in_row": "stop_failed_in_row",
    "slow_depth": "slow_depth",
    "slow_age": "slow_age_seconds",
    "slow_percent": "slow_failed_percent",
}


class Command(OwnCommand):
    help = "Plan a redrive of dead letters, run it, and watch it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        plan = _verb(verbs, "plan", "look at what a filter selects, and keep it as a plan; nothing is moved")
        plan.add_argument("filter", help="which dead letters; an empty one selects all (docs/filters.md)")
        _add_options(plan)
        _add_careful_options(plan)
        run = _verb(verbs, "run", "send again what a plan selects")
        run.add_argument("plan_id", type=int)
        _add_options(run)
        run.add_argument("--wait", action="store_true", help="run it here, without a worker, to its end")
        for name, words in (
            ("pause", "stop after the batch under way, to go on later"),
            ("resume", "go on where it stopped"),
            ("cancel", "stop for good; the rest stays dead"),
            ("show", "how far it is, and what became of what it sent"),
        ):
            _verb(verbs, name, words).add_argument("job_id", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['verb']}")(options)
        except FilterError as error:
            raise CommandError(_underlined(options["filter"], error)) from error
        except SignalboxError as error:
            field = getattr(error, "field", None)
            raise CommandError(f"{field}: {error}" if field else str(error)) from error

    def _plan(self, options: dict[str, Any]) -> None:
        chosen = Options(**_given(options), **_patch(options))
        plan = plans.make(options["filter"], actor=ACTOR, reason=options["reason"], options=chosen, may_reveal=True)
        if options["json"]:
            self._print(plan_document(plan))
            return
        for line in _plan_lines(plan):
            self.stdout.write(line)

    def _run(self, options: dict[str, Any]) -> None:
        waits = options["wait"]
        job = redrives.run(
            options["plan_id"],
            actor=ACTOR,
            reason=options["reason"],
            kicked=not waits,
            may_reveal=True,
            **_given(options),
        )
        if waits:
            tell = self._tell if sys.stderr.isatty() else None
            job = redrives.run_in_foreground(job.pk, TELL_SECONDS, tell)
        self._show_job(job, options)
        if waits and job.state != Job.State.DONE:
            sys.exit(NOT_AT_ITS_END)

    def _tell(self, job: Redrive) -> None:
        of = f" of {job.total_estimate:,}{'' if job.total_is_exact else '+'}"
        self.stderr.write(f"redrive {job.pk}: {job.moved:,}{of} sent again. {job.note}".rstrip())

    def _pause(self, options: dict[str, Any]) -> None:
        self._change(options, redrives.pause, "was not running")

    def _resume(self, options: dict[str, Any]) -> None:
        self._change(options, redrives.resume, "was not paused")

    def _cancel(self, options: dict[str, Any]) -> None:
        self._change(options, redrives.cancel, "was over already")

    def _change(self, options: dict[str, Any], verb: Callable[..., bool], refused: str) -> None:
        job = _find(options["job_id"])
        if not verb(job.pk, actor=ACTOR, reason=options["reason"]):
            raise CommandError(f"job_id: nothing was changed, redrive {job.pk} {refused}")
        self._show_job(job, options)

    def _show(self, options: dict[str, Any]) -> None:
        job = _find(options["job_id"])
        outcomes.refresh(job.pk)
        self._show_job(job, options)

    def _show_job(self, job: Redrive, options: dict[str, Any]) -> None:
        job.refresh_from_db()
        if options["json"]:
            self._print(job_document(job))
            return
        for line in _job_lines(job):
            self.stdout.write(line)

    def _print(self, document: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(document, indent=2, default=str))


def plan_document(plan: Plan) -> dict[str, Any]:
    """A plan for programs."""
    return {
        "id": plan.pk,
        "count": plan.count,
        "count_is_exact": plan.count_is_exact,
        "filter": plan.filter_text,
        "as_of": plan.as_of.isoformat(),
        "upper_bound": plan.upper_bound,
        "options": plan.options,
        "radius": plan.radius,
        "sample_ids": plan.sample_ids,
        "warnings": [warning for one in plans.destinations(plan) for warning in one.warnings],
        "seconds_at_rate": plans.seconds_at(plan, plan.choices.rate_per_second),
    }


def job_document(job: Redrive) -> dict[str, Any]:
    """A job for programs."""
    return {
        "id": job.pk,
        "plan_id": job.plan_id,
        "state": job.state,
        "needs_approval": job.needs_approval,
        "approved_by": job.approved_by,
        "moved": job.moved,
        "skipped": job.skipped,
        "skipped_why": job.skipped_why,
        "outcomes": {
            "succeeded": job.succeeded,
            "failed_same": job.failed_same,
            "failed_new": job.failed_new,
            "gone": job.gone,
            "open": job.open_outcomes,
        },
        "total": job.total_estimate,
        "total_is_exact": job.total_is_exact,
        "rate_per_second": job.rate_per_second,
        "note": job.note,
        "stopped_because": job.stopped_because,
        "error": job.error,
    }


def _plan_lines(plan: Plan) -> list[str]:
    document, radius = plan_document(plan), plan.radius
    more = "" if plan.count_is_exact else " at least"
    lines = [f"plan {plan.pk}:{more} {plan.count:,} dead letters", f"filter: {plan.filter_text or 'all dead letters'}"]
    for name, counted in (("queues", radius["sources"]), ("tenants", radius["tenants"]), ("ages", radius["ages"])):
        lines.append(f"{name}: " + (", ".join(f"{one} {number:,}" for one, number in counted) or "none"))
    causes = ", ".join(f"{words} {number:,}" for _, words, number in radius["fingerprints"])
    lines.append(f"causes: {causes or 'none'}")
    if radius["left_out"]:
        lines.append(f"left out: {radius['left_out']:,} that were redriven too often")
    if radius["patch"]:
        tried = radius["patch"]
        lines.append(f"patch: does not apply to {tried['not_applied']:,} of {tried['looked_at']:,}")
    lines += [f"! {warning}" for warning in document["warnings"]]
    return [*lines, f"run it: manage.py redrive run {plan.pk}"]


def _job_lines(job: Redrive) -> list[str]:
    lines = [f"redrive {job.pk}: {job.state}, {job.moved:,} sent again, {job.skipped:,} passed over"]
    lines.append(
        f"outcomes: {job.succeeded:,} succeeded, {job.failed_same:,} failed again of the same cause,"
        f" {job.failed_new:,} of another, {job.gone:,} purged or expired, {job.open_outcomes:,} open"
    )
    if job.is_awaiting and job.approval_expires_at:
        until = job.approval_expires_at.isoformat(timespec="minutes")
        lines.append(f"it is large: nothing is sent until somebody else approves it in the console, by {until}")
    return lines + [text for text in (job.stopped_because, job.note, job.error) if text]


def _find(job_id: int) -> Redrive:
    job = Redrive.objects.filter(pk=job_id).first()
    if job is None:
        raise CommandError(f"job_id: there is no redrive {job_id}")
    return job


def _verb(verbs: Any, name: str, words: str) -> ArgumentParser:
    parser: ArgumentParser = verbs.add_parser(name, help=words)
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--reason", default="", help="kept in the audit")
    return parser


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--rate", type=int, metavar="N", help="messages per second; without it as fast as it goes")
    parser.add_argument("--canary", type=int, metavar="N", help="so many go first; the rest waits for their outcomes")
    parser.add_argument("--target", metavar="QUEUE", help="instead of the queue that each died in")
    parser.add_argument("--max-redrives", type=int, metavar="N", help="leave out who was redriven more often (3)")
    parser.add_argument("--stop-percent", type=int, metavar="N", help="stop when more of a step fails again (20)")
    parser.add_argument("--stop-in-row", type=int, metavar="N", help="stop when so many in a row fail again (5)")


def _add_careful_options(parser: ArgumentParser) -> None:
    parser.add_argument("--canary-per-cluster", action="store_true", default=None, help="one of each cause goes first")
    parser.add_argument("--slow-depth", type=int, metavar="N", help="half the rate above so many messages waiting")
    parser.add_argument("--slow-age", type=int, metavar="SECONDS", help="half the rate when the oldest waits longer")
    parser.add_argument("--slow-percent", type=int, metavar="N", help="half the rate when more fail again")
    parser.add_argument("--merge-patch", metavar="JSON", help="change payloads on the way (RFC 7396)")
    parser.add_argument("--json-patch", metavar="JSON", help="change payloads on the way (RFC 6902)")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[key] for key, name in OPTIONS.items() if options.get(key) is not None}


def _patch(options: dict[str, Any]) -> dict[str, Any]:
    for kind in ("merge", "json"):
        if (text := options[f"{kind}_patch"]) is not None:
            try:
                return {"patch_kind": kind, "patch": json.loads(text)}
            except ValueError as error:
                raise CommandError(f"--{kind}-patch: this is not JSON: {error}") from error
    return {}


def _underlined(text: str, error: FilterError) -> str:
    """The filter, the mistake marked below it, and what was expected."""
    return f"filter: {error}\n  {text}\n  {' ' * error.position}{'^' * max(1, error.length)}"
