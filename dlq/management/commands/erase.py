"""manage.py erase PATH VALUE: erase all messages of one person, found by a value in their payloads.

The exit status is 0 when all was erased, 1 when the command was refused (standard error has the reason), and 3 when the
job has not ended: it was paused or cancelled, it failed, or it waits for messages in flight.
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
"""Time to wait for transactions of other sessions, which usually end at once."""


class Command(JobCommand):
    help = "Erase messages with a value at a path of the payload in all locations. Preview it first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "path", nargs="?", default="", help="path of the value, as customer.id, **.email or lines[].sku"
        )
        parser.add_argument(
            "value",
            nargs="?",
            default="",
            help='4711 is the number or the string, "4711" only the string; - reads it from standard input',
        )
        parser.add_argument(
            "--queue", action="append", default=[], metavar="NAME", help="only messages of this queue; may be repeated"
        )
        parser.add_argument("--tenant", default="", metavar="NAME", help="only messages of this tenant's queues")
        parser.add_argument("--since", metavar="TIME", help="only messages sent at this time or later, as 2026-01-31")
        parser.add_argument("--until", metavar="TIME", help="only messages sent before this time")
        parser.add_argument("--part", choices=PARTS, default="payload", help="document of the path (default: payload)")
        parser.add_argument(
            "--live",
            choices=Erasure.Live.values,
            default="hold",
            help="waiting messages: leave unchanged (hold, the default), erase (redact), or delete",
        )
        parser.add_argument(
            "--preview", action="store_true", help="search the beginning of each location; change nothing"
        )
        parser.add_argument("--count", action="store_true", help="search everything and count; change nothing")
        parser.add_argument(
            "--rate",
            type=int,
            default=USUAL_ROWS_PER_SECOND,
            metavar="N",
            help=f"rows to search per second (default: {USUAL_ROWS_PER_SECOND})",
        )
        parser.add_argument("--yes", action="store_true", help="erase without a preview and a typed confirmation")
        parser.add_argument("--reason", default="", help="reason to record in the audit: name the person who asked")
        parser.add_argument("--no-wait", action="store_true", help="leave the job to a worker")
        parser.add_argument("--resume", type=int, metavar="ID", help="continue an erasure whose process ended")
        parser.add_argument("--show", type=int, metavar="ID", help="show the report of an erasure")
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.set_defaults(run=self._do)

    def _do(self, _: Any, options: dict[str, Any]) -> None:
        if options["show"] is not None:
            self._tell_job(_find(options["show"]), options)
        elif options["resume"] is not None:
            self._finish(_find(options["resume"]), options)
        elif options["preview"]:
            preview = erasures.preview(_request(options))
            self.tell(options["json"], preview_document(preview), preview_lines(preview))
        else:
            self._finish(self._start(options), options)

    def _start(self, options: dict[str, Any]) -> Erasure:
        request, counts = _request(options), options["count"]
        confirmation = erasures.WORD if options["yes"] or counts else self._confirmation(request)
        return erasures.create(
            request,
            actor=ACTOR,
            reason=options["reason"] or ("counted before an erasure" if counts else ""),
            confirmation=confirmation,
            only_counts=counts,
            wake=options["no_wait"],
        )

    def _confirmation(self, request: erasures.ErasureRequest) -> str:
        if not sys.stdin.isatty():
            raise CommandError("yes: add --yes, or run the command in a terminal and confirm there")
        for line in preview_lines(erasures.preview(request)):
            self.stderr.write(line)
        return input(f"This cannot be undone. Type {erasures.WORD}: ").strip()

    def _finish(self, job: Erasure, options: dict[str, Any]) -> None:
        if not options["no_wait"]:
            job = _run(job, self._show_progress if sys.stderr.isatty() else None)
        self._tell_job(job, options)
        if not options["no_wait"] and job.state != Erasure.State.DONE:
            sys.exit(NOT_AT_ITS_END)

    def _show_progress(self, job: Erasure) -> None:
        self.stderr.write(f"{job.place}: {job.looked:,} searched, {job.found:,} found. {job.note}".rstrip())

    def _tell_job(self, job: Erasure, options: dict[str, Any]) -> None:
        document = report.report(job)
        self.tell(options["json"], document, report_lines(document))


def preview_document(preview: erasures.Preview) -> dict[str, Any]:
    """Describe a preview as JSON."""
    fields = ("place", "rows", "looked", "found", "whole")
    places = [{name: getattr(sample, name) for name in fields} for sample in preview.samples]
    return {"rows": preview.rows, "seconds": round(preview.seconds, 1), "places": places}


def preview_lines(preview: erasures.Preview) -> list[str]:
    """Describe a preview in lines for people."""
    lines = []
    for sample in preview.samples:
        searched = "all searched" if sample.whole else f"{sample.looked:,} searched"
        lines.append(f"{sample.words}: {sample.rows:,} rows, {searched}, {sample.found:,} found")
    part = "" if preview.is_whole else " Only the beginning of some locations was searched: --count searches all."
    return [*lines, f"The erasure reads {preview.rows:,} rows, for at least {preview.seconds:,.0f} s.{part}"]


def report_lines(document: dict[str, Any]) -> list[str]:
    """Describe a report in lines for people."""
    what = "count" if document["only_counts"] else "erasure"
    path = f"{document['part']}.{document['path']}"
    lines = [f"{what} {document['erasure']}: {document['state']}, {path}, {document['where']}"]
    for place in document["places"]:
        found = place.get("removed", place["found"])
        lines.append(f"{place['words']}: {place['looked']:,} searched, {found:,} found")
    for title, counts in (("messages", document["messages"]), ("found as", document["stood"])):
        lines += [f"{title}: {_listed(counts)}"] if counts else []
    lines += [f"{name}: {_listed(results)}" for name, results in document["elsewhere"].items()]
    lines += [document["note"]] if document["note"] else []
    return [*lines, "not done:", *(f"- {sentence}" for sentence in document["not_done"])]


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {value:,}" if isinstance(value, int) else f"{name.replace('_', ' ')} {value}"
        for name, value in values.items()
    )


def _run(job: Erasure, tell: Any) -> Erasure:
    """Run the job to its end, or until it waits only for messages in flight."""
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


def _request(options: dict[str, Any]) -> erasures.ErasureRequest:
    return erasures.ErasureRequest(
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
        raise CommandError(f"{name} must be {error}") from error


def _find(erasure_id: int) -> Erasure:
    job = Erasure.objects.filter(pk=erasure_id).first()
    if job is None:
        raise CommandError(f"erasure {erasure_id} does not exist")
    return job
