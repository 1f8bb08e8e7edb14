"""manage.py pipeline archive | rollup | analyse | replay | runs | perform | serve | pack | erase | release.

The exit status is 0 on success, and 1 when the command was refused or failed; standard error has the reason.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from dlq.filters import FilterError
from pipeline.analysis import analysing
from pipeline.archive import archiving
from pipeline.archive.files import NoStore
from pipeline.erasure import in_archive
from pipeline.errors import PipelineError
from pipeline.jobs import starting
from pipeline.jobs.niceness import end_with_input, stand_back
from pipeline.models import Run
from pipeline.replay import replay_arguments, replaying
from pipeline.replay.replay_choice import by_spark
from pipeline.rollups import rolling
from pipeline.spark import keeper, packing, servers, sessions
from pipeline.spark.sessions import NoJava
from pipeline.spark.tasks import OnSpark
from queues import audit
from queues.commands import ACTOR, OwnCommand
from queues.control import archive_horizon
from queues.errors import SignalboxError

BAR_WIDTH = 30
LISTED = 20
RUN_FIELDS = (
    *("kind", "state", "url", "low", "high", "rows", "rows_expected", "files", "bytes", "attempts"),
    *("opened_at", "finished_at", "seconds", "started_by", "error"),
)
ON_SERVER = "run in the Spark server of this machine, which is started if needed and ends with process PID"


class Command(OwnCommand):
    help = "Archive messages that have ended to Parquet files, and compute rollups, analyses and replays from it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        archive = _verb(verbs, "archive", "archive the messages that were settled since the last run")
        archive.add_argument("--to", metavar="URL", help="folder or object store of the archive (default: ARCHIVE_URL)")
        rollup = _verb(verbs, "rollup", "compute hourly and daily counts from rows archived since the last rollup")
        analyse = _verb(verbs, "analyse", "group the archived failures, and compare failures with successes")
        analyse.add_argument(
            "--since", type=date.fromisoformat, metavar="DAY", help="first day to analyse (UTC), as 2026-01-31"
        )
        analyse.add_argument(
            "--days",
            type=int,
            choices=range(1, analysing.MAX_DAYS + 1),
            default=analysing.USUAL_DAYS,
            metavar="N",
            help=f"number of the archive's last days to analyse (default: {analysing.USUAL_DAYS})",
        )
        replay = _verb(verbs, "replay", "stage the archived messages that a filter selects, and make a redrive plan")
        replay_arguments.add(replay)
        perform = _verb(verbs, "perform", "run a request of the console or of a schedule; workers call it")
        perform.add_argument("request_id", type=_count, metavar="REQUEST")
        for parser in (archive, rollup, analyse, replay):
            parser.add_argument(
                "--by", default=ACTOR, metavar="NAME", help=f"name to record with the run (default: {ACTOR})"
            )
        for parser in (archive, rollup, analyse, replay, perform):
            parser.add_argument("--on-server", type=int, nargs="?", const=0, metavar="PID", help=ON_SERVER)
        runs = _verb(verbs, "runs", "list the last runs and the archive's horizon")
        runs.add_argument(
            "--last", type=_count, default=LISTED, metavar="N", help=f"number of runs to list (default: {LISTED})"
        )
        serve = _verb(
            verbs,
            "serve",
            "keep a Spark server for jobs of this machine until it was idle for SPARK_SERVER_IDLE_SECONDS",
        )
        serve.add_argument("--owner", type=int, default=0, metavar="PID", help="end when this process has ended")
        pack = _verb(verbs, "pack", "write a zip file with the modules of Spark tasks, for spark-submit --py-files")
        pack.add_argument("file", type=Path, metavar="FILE")
        erase = _verb(verbs, "erase", "run an erasure in the archive; manage.py erase and workers call it")
        erase.add_argument("erasure_id", type=int)
        _verb(verbs, "release", "let the history be dropped without waiting for the archive until the next run")

    def run_from_argv(self, argv: list[str]) -> None:
        """Run the command, with the lowest CPU priority unless PIPELINE_PRIORITY is normal."""
        if settings.PIPELINE_NICE:
            stand_back()
        super().run_from_argv(argv)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["with_input"]:
            end_with_input()
        try:
            document, lines = getattr(self, f"_{options['verb']}")(options)
        except FilterError as error:
            raise CommandError(replay_arguments.underlined(options.get("filter", ""), error)) from error
        except (PipelineError, NoJava, NoStore, SignalboxError) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(document, indent=2))
        else:
            self.stdout.write("\n".join(lines))

    def _perform(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        """Run a stored request, with the arguments of its row only."""
        request = starting.take(options["request_id"])
        if request is None:
            return {"done": False}, [
                "There is no such request: it was taken by a worker, is too old, or does not exist."
            ]
        options["by"] = request.requested_by
        if request.kind == Run.Kind.ARCHIVE:
            return self._archive(options | {"to": None})
        if request.kind == Run.Kind.ROLLUP:
            return self._rollup(options)
        if request.kind == Run.Kind.ANALYSE:
            return self._analyse(options | {"days": analysing.USUAL_DAYS, "since": None})
        options |= request.arguments["arguments"]
        return self._replay(options)

    def _archive(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        url = options["to"] or settings.ARCHIVE_URL
        with OnSpark(settings.SPARK_MASTER, sessions.light(settings.SPARK_OPTIONS), options["on_server"]) as spark:
            report = self._draw_progress if sys.stderr.isatty() else lambda run: None
            done = archiving.archive(url, actor=options["by"], execute=spark.write_parts, report=report)
        in_archive.remove_files_of_ended_erasures()
        document = {name: getattr(done, name) for name in ("rows", "files", "bytes", "url", "horizon")}
        document["runs"] = [run_document(run) for run in done.runs]
        return document, [f"{done.rows:,} rows in {done.files:,} files, {done.bytes:,} bytes, to {done.url}"]

    def _rollup(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        with _spark(options) as spark:
            done = rolling.roll_up(spark, actor=options["by"])
        line = f"{done.buckets:,} buckets of {done.days:,} days, from {done.archive_runs:,} runs of the archive"
        return asdict(done), [line]

    def _replay(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        request = replay_arguments.request_from(options)
        with _spark(options) as spark:
            plan, run = replaying.stage(by_spark(spark), request, actor=options["by"])
        return replay_arguments.answer(plan, run)

    def _analyse(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        with _spark(options) as spark:
            done = analysing.analyse(spark, actor=options["by"], days=options["days"], since=options["since"])
        if done.run is None:
            return {"run": None, "is_new": False}, ["The archive is empty. Fill it with: manage.py pipeline archive"]
        counted = {name: done.run.outcome[name] for name in ("failures", "templates", "comparisons", "findings")}
        document = {"run": done.run.pk, "is_new": done.is_new, "days": done.run.outcome["days"], **counted}
        counts = ", ".join(f"{count:,} {name}" for name, count in counted.items())
        first, last = document["days"][0], document["days"][-1]
        return document, [
            f"{counts}, from {first} to {last}" + ("" if done.is_new else "; nothing changed since the last run")
        ]

    def _draw_progress(self, run: Run) -> None:
        done = run.parts_done / max(1, len(run.parts))
        bar = "#" * round(done * BAR_WIDTH)
        end = "\n" if run.state == Run.State.COMMITTED else ""
        self.stderr.write(
            f"\rrun {run.pk} [{bar:.<{BAR_WIDTH}}] {run.rows:,} of {run.rows_expected:,} rows ", ending=end
        )
        self.stderr.flush()

    def _runs(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        runs, horizon = list(Run.objects.order_by("-pk")[: options["last"]]), archive_horizon.read()
        document = {
            "horizon": horizon and {**asdict(horizon), "moved_at": horizon.moved_at.isoformat()},
            "runs": [run_document(run) for run in runs],
        }
        lines = [_line(run) for run in runs] or ["There are no runs. Begin with: manage.py pipeline archive"]
        if horizon:
            waits = "waits" if horizon.holds else "does not wait"
            since = f"{horizon.moved_at:%Y-%m-%d %H:%M:%S} UTC"
            lines.append(
                f"horizon: archived below transaction {horizon.below} since {since}; history {waits} for the archive"
            )
        return document, lines

    def _serve(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        ended = keeper.serve(
            keeper.ServerFolder(settings.SIGNALBOX_HOME),
            lambda: sessions.KeptJava(settings.SPARK_MASTER, settings.SPARK_OPTIONS, settings.SPARK_CLASSES),
            settings.SPARK_SERVER_IDLE_SECONDS,
            options["owner"],
            servers.recorder(),
        )
        return {"ended": ended}, [f"The server ended: {ended}."]

    def _pack(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        path = packing.pack(options["file"])
        return {"file": str(path), "bytes": path.stat().st_size}, [f"{path}: {path.stat().st_size:,} bytes"]

    def _erase(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        row = in_archive.erase(options["erasure_id"])
        if row is None:
            return {"done": False}, [
                "The erasure has nothing to do in the archive: it has ended, or has not reached the archive yet."
            ]
        document = {"done": row.finished_at is not None, "files_rewritten": row.files_rewritten, "note": row.note}
        line = f"{row.files_looked:,} files searched, {row.files_rewritten:,} rewritten. {row.note}".rstrip()
        return document | {"rows_erased": row.rows_erased}, [line]

    def _release(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        released = archive_horizon.release()
        if released:
            audit.record(ACTOR, "archive.release")
        line = "History no longer waits for the archive." if released else "History was not waiting for the archive."
        return {"released": released}, [line]


def run_document(run: Run) -> dict[str, Any]:
    """Describe a run as JSON."""
    finished_at = run.finished_at and run.finished_at.isoformat()
    converted = {"files": run.files.count(), "opened_at": run.opened_at.isoformat(), "finished_at": finished_at}
    return {"id": run.pk, **{name: getattr(run, name) for name in RUN_FIELDS}, **converted}


def _spark(options: dict[str, Any]) -> OnSpark:
    """Prepare a Spark session, which draws a progress bar on a terminal."""
    progress = {sessions.PROGRESS_BAR: str(sys.stderr.isatty()).lower()}
    return OnSpark(settings.SPARK_MASTER, progress | settings.SPARK_OPTIONS, options["on_server"])


def _line(run: Run) -> str:
    opened = f"{run.opened_at:%Y-%m-%d %H:%M:%S} UTC"
    what = f"{run.kind} {run.pk}: {run.state}, {run.rows:,} rows, {run.bytes:,} bytes, opened {opened}"
    return f"{what}. {run.error}" if run.error else what


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ArgumentTypeError(f"{count} is not allowed: give a number of 1 or more")
    return count


def _verb(verbs: Any, name: str, text: str) -> ArgumentParser:
    parser: ArgumentParser = verbs.add_parser(name, help=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--with-input", action="store_true", help="end when standard input ends")
    return parser
