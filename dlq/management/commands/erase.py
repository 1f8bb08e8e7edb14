"""manage.py erase PATH VALUE: everything of one person, found by a value in payloads and erased wherever it is kept.

Ends with 0 when all is done, with 1 when it was refused (standard error says why), and with 3 when the job did not come
to its end: it was paused or cancelled, it failed, or it waits for what is in work.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from dlq.erasure import erasures, external, report
from dlq.erasure.models import USUAL_ROWS_PER_SECOND, Erasure
from dlq.erasure.target import PARTS
from dlq.filters.readings import MisreadError, moment
from dlq.jobs.commands import NOT_AT_ITS_END, JobCommand
from dlq.jobs.runner import POLL_SECONDS, Ending
from queues.commands import ACTOR

REST_SECONDS = 60.0
"""So long it is waited for transactions of others, which are usually over at once."""


class Command(JobCommand):
    help = "Erase messages with a value at a path of the payload, in every place. Preview it first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", nargs="?", default="", help="as in customer.id, **.email, lines[].sku")
        parser.add_argument(
            "value",
            nargs="?",
            default="",
            help='4711 is the number or the string; "4711" the string; - reads it from standard input',
        )
        parser.add_argument("--queue", action="append", default=[], metavar="NAME", help="only there; may be repeated")
        parser.add_argument("--tenant", default="", metavar="NAME", help="only in its queues")
        parser.add_argument("--since", metavar="TIME", help="only messages sent at this time or later, as 2026-01-31")
        parser.add_argument("--until", metavar="TIME", help="only messages sent before this time")
        parser.add_argument("--part", choices=PARTS, default="payload", help="where the path begins (payload)")
        parser.add_argument(
            "--live",
            choices=Erasure.Live.values,
            default="hold",
            help="what waits to be processed: left until it was (hold), erased before (redact), or removed (delete)",
        )
        parser.add_argument(
            "--preview", action="store_true", help="look at the beginning of each place, change nothing"
        )
        parser.add_argument("--count", action="store_true", help="look at everything, change nothing")
        parser.add_argument(
            "--rate",
            type=int,
            default=USUAL_ROWS_PER_SECOND,
            metavar="N",
            help=f"rows to look at per second ({USUAL_ROWS_PER_SECOND})",
        )
        parser.add_argument("--yes", action="store_true", help="without it a preview is shown, and the word asked for")
        parser.add_argument("--reason", default="", help="kept in the audit, with whose request it was")
        parser.add_argument("--no-wait", action="store_true", help="leave it to a worker")
        parser.add_argument("--resume", type=int, metavar="ID", help="go on with an erasure whose process ended")
        parser.add_argument("--show", type=int, metavar="ID", help="the report of an erasure")
        parser.add_argument("--json", action="store_true", help="for programs")
        parser.set_defaults(run=self._do)

    def _do(self, _: Any, options: dict[str, Any]) -> None:
        if options["show"] is not None:
            self._tell_job(_find(options["show"]), options)
        elif options["resume"] is not None:
            self._finish(_find(options["resume"]), options)
        elif options["preview"]:
            seen = erasures.preview(_wanted(options))
            self.tell(options["json"], preview_document(seen), preview_lines(seen))
        else:
            self._finish(self._start(options), options)

    def _start(self, options: dict[str, Any]) -> Erasure:
        wanted, counts = _wanted(options), options["count"]
        confirmation = erasures.WORD if options["yes"] or counts else self._asked(wanted)
        return erasures.create(
            wanted,
            actor=ACTOR,
            reason=options["reason"] or ("counted before an erasure" if counts else ""),
            confirmation=confirmation,
            only_counts=counts,
            wake=options["no_wait"],
        )

    def _asked(self, wanted: erasures.Wanted) -> str:
        if not sys.stdin.isatty():
            raise CommandError("yes: say --yes, or run it in a terminal, where it asks")
        for line in preview_lines(erasures.preview(wanted)):
            self.stderr.write(line)
        return input(f"This cannot be undone. Type {erasures.WORD}: ").strip()

    def _finish(self, job: Erasure, options: dict[str, Any]) -> None:
        if not options["no_wait"]:
            job = _run(job, self._say if sys.stderr.isatty() else None)
        self._tell_job(job, options)
        if not options["no_wait"] and job.state != Erasure.State.DONE:
            sys.exit(NOT_AT_ITS_END)

    def _say(self, job: Erasure) -> None:
        self.stderr.write(f"{job.place}: {job.looked:,} looked at, {job.found:,} found. {job.note}".rstrip())

    def _tell_job(self, job: Erasure, options: dict[str, Any]) -> None:
        told = report.report(job)
        self.tell(options["json"], told, report_lines(told))


def preview_document(seen: erasures.Preview) -> dict[str, Any]:
    """A preview for programs."""
    told = ("place", "rows", "looked", "found", "whole")
    places = [{name: getattr(one, name) for name in told} for one in seen.samples]
    return {"rows": seen.rows, "seconds": round(seen.seconds, 1), "places": places}


def preview_lines(seen: erasures.Preview) -> list[str]:
    """Return the same for people."""
    lines = []
    for one in seen.samples:
        of = "all looked at" if one.whole else f"{one.looked:,} looked at"
        lines.append(f"{one.words}: {one.rows:,} rows, {of}, {one.found:,} found")
    whole = "" if seen.is_whole else " Only the beginning of some places was looked at: --count looks at all."
    return [*lines, f"It reads {seen.rows:,} rows, for at least {seen.seconds:,.0f} s.{whole}"]


def report_lines(told: dict[str, Any]) -> list[str]:
    """A report for people."""
    what = "count" if told["only_counts"] else "erasure"
    lines = [f"{what} {told['erasure']}: {told['state']}, {told['part']}.{told['path']}, {told['where']}"]
    lines += [
        f"{one['words']}: {one['looked']:,} looked at, {one.get('removed', one['found']):,} found"
        for one in told["places"]
    ]
    for title, counted in (("messages", told["messages"]), ("stood", told["stood"])):
        if counted:
            lines.append(f"{title}: " + ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in counted.items()))
    for name, counted in told["elsewhere"].items():
        lines.append(f"{name}: " + ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in counted.items()))
    return [*lines, *([told["note"]] if told["note"] else []), "not done:", *(f"- {one}" for one in told["not_done"])]


def _run(job: Erasure, tell: Any) -> Erasure:
    """Run to the end, or until only consumers are waited for, which may take long."""
    give_up_at = time.monotonic() + REST_SECONDS
    while True:
        ending = erasures.run_slice(job.pk, 1.0)
        job.refresh_from_db()
        if tell:
            tell(job)
        if ending is Ending.MORE:
            give_up_at = time.monotonic() + REST_SECONDS
        elif not job.is_active or job.became.get("in_work") or time.monotonic() > give_up_at:
            return job
        else:
            if job.place == external.PLACE:
                external.work(job)
            time.sleep(POLL_SECONDS)


def _wanted(options: dict[str, Any]) -> erasures.Wanted:
    return erasures.Wanted(
        path=options["path"],
        value=sys.stdin.readline().rstrip("\r\n") if options["value"] == "-" else options["value"],
        part=options["part"],
        live=options["live"],
        queues=options["queue"],
        tenant=options["tenant"],
        since=_time(options, "since"),
        until=_time(options, "until"),
        rows_per_second=options["rate"],
    )


def _time(options: dict[str, Any], name: str) -> Any:
    try:
        return options[name] and moment(options[name]).start
    except MisreadError as error:
        raise CommandError(f"{name}: expected {error}") from error


def _find(erasure_id: int) -> Erasure:
    job = Erasure.objects.filter(pk=erasure_id).first()
    if job is None:
        raise CommandError(f"there is no erasure {erasure_id}")
    return job
