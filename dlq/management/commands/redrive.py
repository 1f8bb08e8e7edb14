"""manage.py redrive plan | run | pause | resume | cancel | show: send dead letters again, from a terminal.

The exit code is 0 when the command succeeded, 1 when it was refused (standard error has the reason), and 3 when the job
of `run --wait` did not end: it stopped by itself, was paused or cancelled, failed, or needs approval.
"""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from django.core.management.base import CommandError

from dlq.filters import FilterError
from dlq.jobs.commands import NOT_AT_ITS_END, JobCommand
from dlq.jobs.models import Job, Redrive
from dlq.redrives import outcomes, plans, redrives
from dlq.redrives.fleet import parts as over_cells
from dlq.redrives.fleet.models import FleetRedrive
from dlq.redrives.fleet.parts import Part
from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from queues.commands import ACTOR

TELL_SECONDS = 1.0
CELLS_HELP = "over all cells of the fleet; the number is that of a redrive over cells"
CANARY_PER_GROUP_HELP = "the canary has at least one message of each failure group"
CANARY_HELP = "send N messages first and wait for their outcomes (default: 10, or one per failure group; 0: no canary)"
# Verb -> help, function, and the state that makes it change nothing.
CHANGES: dict[str, tuple[str, Callable[..., bool], str]] = {
    "pause": ("stop after the current batch; resume continues it", redrives.pause, "was not running"),
    "resume": ("continue where the redrive stopped", redrives.resume, "was not paused"),
    "cancel": ("stop; the other messages stay dead letters", redrives.cancel, "has already ended"),
}
# Columns: argument, type, name of its value in the help, option of the plan, help.
OPTIONS = (
    ("--rate", int, "N", "rate_per_second", "messages per second (default: unlimited)"),
    ("--canary", int, "N", "canary_messages", CANARY_HELP),
    ("--target", str, "QUEUE", "target_queue", "destination (default: the source queue of each message)"),
    ("--max-redrives", int, "N", "max_redrives", "skip messages redriven more than N times (default: 3)"),
    ("--stop-percent", int, "N", "stop_failed_percent", "stop if more than N percent fail again (default: 20)"),
    ("--stop-in-row", int, "N", "stop_failed_in_row", "stop after N consecutive failures (default: 5; 0: never)"),
)
OPTIONS_OF_A_PLAN = (
    ("--slow-depth", int, "N", "slow_depth", "halve the rate while more than N messages wait in a destination"),
    ("--slow-age", int, "SECONDS", "slow_age_seconds", "halve the rate while the oldest message waits longer"),
    ("--slow-percent", int, "N", "slow_failed_percent", "halve the rate while more than N percent fail again"),
    ("--merge-patch", str, "JSON", "merge_patch", "edit each payload before it is sent (RFC 7396)"),
    ("--json-patch", str, "JSON", "json_patch", "edit each payload before it is sent (RFC 6902)"),
)


class Command(JobCommand):
    help = "Plan a redrive of dead letters, run it, and watch it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        plan = _verb(verbs, "plan", "preview a redrive of the dead letters that a filter selects; sends nothing")
        plan.add_argument("filter", help="which dead letters; an empty one selects all (docs/operate/filters.md)")
        _add_options(plan, OPTIONS)
        plan.add_argument("--canary-per-group", action="store_true", default=None, help=CANARY_PER_GROUP_HELP)
        _add_options(plan, OPTIONS_OF_A_PLAN)
        run = _verb(verbs, "run", "send the messages of a plan again")
        run.add_argument("plan_id", type=int)
        _add_options(run, OPTIONS)
        run.add_argument("--wait", action="store_true", help="run the job in this process, until it ends")
        for name, (words, _, _) in CHANGES.items():
            change = _verb(verbs, name, words)
            change.add_argument("job_id", type=int)
            change.set_defaults(run=self._change)
        _verb(verbs, "show", "show the progress and the outcomes").add_argument("job_id", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            super().handle(*args, **options)
        except FilterError as error:
            mark = " " * error.position + "^" * max(1, error.length)
            raise CommandError(f"filter: {error}\n  {options['filter']}\n  {mark}") from error

    def _plan(self, options: dict[str, Any]) -> None:
        chosen = Options.with_canary(**_given(options), **_patch(options))
        filter, reason = check_filter(options["filter"]), options["reason"]
        if options["cells"]:
            made = over_cells.make(filter, actor=ACTOR, reason=reason, options=chosen, may_reveal=True)
            self._tell_parts(made, over_cells.look(made), options)
            return
        plan = plans.make(filter, actor=ACTOR, reason=reason, options=chosen, may_reveal=True)
        document = plan_document(plan)
        self.tell(options["json"], document, _plan_lines(plan, document["warnings"]))

    def _run(self, options: dict[str, Any]) -> None:
        waits, given = options["wait"], _given(options)
        if options["cells"]:
            self._run_parts(options, given)
            return
        job = redrives.run(
            options["plan_id"], actor=ACTOR, reason=options["reason"], wake=not waits, may_reveal=True, **given
        )
        if waits:
            tell = self._tell_progress if sys.stderr.isatty() else None
            job = redrives.run_in_foreground(job.pk, TELL_SECONDS, tell)
        self._tell_job(job, options)
        if waits and job.state != Job.State.DONE:
            sys.exit(NOT_AT_ITS_END)

    def _tell_progress(self, job: Redrive) -> None:
        of = f" of {job.total_estimate:,}{'' if job.total_is_exact else '+'}"
        self.stderr.write(f"redrive {job.pk}: {job.moved:,}{of} sent again. {job.note}".rstrip())

    def _run_parts(self, options: dict[str, Any], given: dict[str, Any]) -> None:
        redrive, waits = over_cells.get(options["plan_id"]), options["wait"]
        parts = over_cells.run(redrive, actor=ACTOR, reason=options["reason"], wake=not waits, may_reveal=True, **given)
        if waits:
            over_cells.run_in_foreground(redrive)
            parts = over_cells.look(redrive)
        self._tell_parts(redrive, parts, options)
        if any(part.error for part in parts) or (waits and any(part.state != Job.State.DONE for part in parts)):
            sys.exit(NOT_AT_ITS_END)

    def _tell_parts(self, redrive: FleetRedrive, parts: Sequence[Part], options: dict[str, Any]) -> None:
        self.tell(options["json"], parts_document(redrive, parts), _parts_lines(redrive, parts))

    def _change(self, _: Any, options: dict[str, Any]) -> None:
        if options["cells"]:
            redrive = over_cells.get(options["job_id"])
            parts = over_cells.change(redrive, options["verb"], actor=ACTOR, reason=options["reason"])
            self._tell_parts(redrive, parts, options)
            return
        job, (_, change, refused) = _find(options["job_id"]), CHANGES[options["verb"]]
        if not change(job.pk, actor=ACTOR, reason=options["reason"]):
            raise CommandError(f"job_id: nothing was changed: redrive {job.pk} {refused}")
        self._tell_job(job, options)

    def _show(self, options: dict[str, Any]) -> None:
        if options["cells"]:
            redrive = over_cells.get(options["job_id"])
            self._tell_parts(redrive, over_cells.look(redrive), options)
            return
        job = _find(options["job_id"])
        outcomes.refresh(job.pk)
        self._tell_job(job, options)

    def _tell_job(self, job: Redrive, options: dict[str, Any]) -> None:
        job.refresh_from_db()
        self.tell(options["json"], job_document(job), _job_lines(job))


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return a plan as a JSON document."""
    return {
        "id": plan.pk,
        **{name: getattr(plan, name) for name in ("count", "count_is_exact", "upper_bound", "options", "sample_ids")},
        "filter": plan.filter_text,
        "as_of": plan.as_of.isoformat(),
        "impact": plan.impact.as_json(),
        "warnings": [warning for destination in plans.destinations(plan) for warning in destination.warnings],
        "seconds_at_rate": plans.seconds_at(plan, plan.choices.rate_per_second),
    }


def job_document(job: Redrive) -> dict[str, Any]:
    """Return a job as a JSON document."""
    fields_of_job = (
        "plan_id",
        "state",
        "needs_approval",
        "approved_by",
        "moved",
        "skipped",
        "skipped_why",
        "total_is_exact",
    )
    outcome = ("succeeded", "failed_same", "failed_new", "gone")
    return {
        "id": job.pk,
        **{
            name: getattr(job, name) for name in (*fields_of_job, "rate_per_second", "note", "stopped_because", "error")
        },
        "outcomes": {name: getattr(job, name) for name in outcome} | {"open": job.open_outcomes},
        "total": job.total_estimate,
    }


def parts_document(redrive: FleetRedrive, parts: Sequence[Part]) -> dict[str, Any]:
    """Return a redrive over cells as a JSON document."""
    return {
        "id": redrive.pk,
        "filter": redrive.filter_text,
        "left_out": redrive.left_out,
        "parts": [
            {
                "cell": part.cell,
                "state": part.state,
                "error": part.error,
                "warnings": [*part.warnings],
                "plan": part.plan_id,
                "count": part.plan.count if part.plan else None,
                "count_is_exact": part.plan.count_is_exact if part.plan else None,
                "redrive": job_document(part.job) if part.job else None,
            }
            for part in parts
        ],
    }


def _parts_lines(redrive: FleetRedrive, parts: Sequence[Part]) -> list[str]:
    lines = [f"redrive {redrive.pk} over cells: {redrive.filter_text or 'all dead letters'}"]
    for part in parts:
        lines += [f"{part.cell}: {line}" for line in _part_lines(part)]
    lines += [f"! {cell} is left out: {why}" for cell, why in redrive.left_out.items()]
    if any(part.state == "planned" for part in parts):
        lines.append(f"run it: manage.py redrive run {redrive.pk} --cells")
    return lines if parts else [*lines, "No cell has such dead letters."]


def _part_lines(part: Part) -> list[str]:
    if part.error:
        return [f"silent: {part.error}"]
    if part.job:
        return _job_lines(part.job)
    assert part.plan is not None  # noqa: S101 - a part without an error was read
    more = "" if part.plan.count_is_exact else " at least"
    return [f"plan {part.plan.pk}:{more} {part.plan.count:,} dead letters", *(f"! {text}" for text in part.warnings)]


def _plan_lines(plan: Plan, warnings: list[str]) -> list[str]:
    impact = plan.impact
    more = "" if plan.count_is_exact else " at least"
    lines = [f"plan {plan.pk}:{more} {plan.count:,} dead letters", f"filter: {plan.filter_text or 'all dead letters'}"]
    for name, counted in (("queues", impact.sources), ("tenants", impact.tenants), ("ages", impact.ages)):
        lines.append(f"{name}: " + (", ".join(f"{value} {number:,}" for value, number in counted) or "none"))
    causes = ", ".join(f"{words} {number:,}" for _, words, number in impact.fingerprints)
    lines.append(f"causes: {causes or 'none'}")
    if impact.left_out:
        lines.append(f"skipped: {impact.left_out:,} that were redriven too often")
    if tried := impact.patch:
        lines.append(f"patch: does not apply to {tried.not_applied:,} of {tried.looked_at:,}")
    lines += [f"! {warning}" for warning in warnings]
    return [*lines, *_canary_line(plan), f"run it: manage.py redrive run {plan.pk}"]


def _canary_line(plan: Plan) -> list[str]:
    """Say how many messages go first; nothing when the canary is the whole plan."""
    size = plan.canary_size
    if not plan.choices.has_canary:
        return ["canary: none"]
    return [f"canary: {size:,} of {plan.count:,} messages"] if size < plan.count else []


def _job_lines(job: Redrive) -> list[str]:
    lines = [f"redrive {job.pk}: {job.state}, {job.moved:,} sent again, {job.skipped:,} skipped"]
    lines.append(
        f"outcomes: {job.succeeded:,} succeeded, {job.failed_same:,} failed again of the same cause,"
        f" {job.failed_new:,} of another, {job.gone:,} purged or expired, {job.open_outcomes:,} open"
    )
    if job.is_awaiting and job.approval_expires_at:
        until = job.approval_expires_at.isoformat(timespec="minutes")
        lines.append(f"approval needed: another person must approve this large redrive in the console by {until}")
    return lines + [text for text in (job.stopped_because, job.note, job.error) if text]


def _find(job_id: int) -> Redrive:
    job = Redrive.objects.filter(pk=job_id).first()
    if job is None:
        raise CommandError(f"job_id: redrive {job_id} does not exist")
    return job


def _verb(verbs: Any, name: str, words: str) -> ArgumentParser:
    parser: ArgumentParser = verbs.add_parser(name, help=words)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--cells", action="store_true", help=CELLS_HELP)
    parser.add_argument("--reason", default="", help="reason to record in the audit")
    return parser


def _add_options(parser: ArgumentParser, options: Sequence[tuple[str, type, str, str, str]]) -> None:
    for flag, kind, metavar, name, words in options:
        parser.add_argument(flag, type=kind, metavar=metavar, dest=name, help=words)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    given = {one.name: options[one.name] for one in fields(Options) if options.get(one.name) is not None}
    return {"canary_per_group": False} | given if given.get("canary_messages") == 0 else given


def _patch(options: dict[str, Any]) -> dict[str, Any]:
    for kind in ("merge", "json"):
        if (text := options[f"{kind}_patch"]) is not None:
            try:
                return {"patch_kind": kind, "patch": json.loads(text)}
            except ValueError as error:
                raise CommandError(f"--{kind}-patch is not JSON: {error}") from error
    return {}
