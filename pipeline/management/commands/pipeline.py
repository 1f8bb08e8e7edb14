"""manage.py pipeline archive | rollup | runs | release: the data pipeline from a terminal.

Ends with 0 when what was asked is done, and with 1 when it was refused or failed; standard error says why.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from pipeline import archiving, horizon, rolling
from pipeline.errors import PipelineError
from pipeline.files import NoStore
from pipeline.models import Run
from pipeline.spark import NoJava, OnSpark
from queues import audit

ACTOR = "manage.py"
BAR_WIDTH = 30
LISTED = 20


class Command(BaseCommand):
    help = "Archive what the queues did to Parquet files, and see what was archived."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        archive = _verb(verbs, "archive", "write what has happened since the last run, up to now")
        archive.add_argument("--to", metavar="URL", help="a folder or an object store (ARCHIVE_URL)")
        rollup = _verb(verbs, "rollup", "reckon hours and days of what was archived since the last time")
        for parser in (archive, rollup):
            parser.add_argument("--by", default=ACTOR, metavar="NAME", help=f"whose run it is ({ACTOR})")
        runs = _verb(verbs, "runs", "the last runs, and the horizon")
        runs.add_argument("--last", type=int, default=LISTED, metavar="N", help=f"so many ({LISTED})")
        _verb(verbs, "release", "let history be dropped without waiting for the archive, until the next run")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            document, lines = getattr(self, f"_{options['verb']}")(options)
        except (PipelineError, NoJava, NoStore) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(document, indent=2))
        else:
            self.stdout.write("\n".join(lines))

    def _archive(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        url = options["to"] or settings.ARCHIVE_URL
        with OnSpark(settings.SPARK_MASTER, settings.SPARK_OPTIONS) as spark:
            tell = self._tell if sys.stderr.isatty() else lambda run: None
            done = archiving.archive(url, actor=options["by"], execute=spark.write_parts, tell=tell)
        document = {
            "rows": done.rows,
            "files": done.files,
            "bytes": done.bytes,
            "url": url,
            "horizon": done.horizon,
            "runs": [run_document(run) for run in done.runs],
        }
        return document, [f"{done.rows:,} rows in {done.files:,} files, {done.bytes:,} bytes, to {url}"]

    def _rollup(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        with OnSpark(settings.SPARK_MASTER, settings.SPARK_OPTIONS) as spark:
            done = rolling.roll_up(spark, actor=options["by"])
        words = f"{done.buckets:,} buckets of {done.days:,} days, from {done.archive_runs:,} runs of the archive"
        return asdict(done), [words]

    def _tell(self, run: Run) -> None:
        done = run.parts_done / max(1, len(run.parts))
        bar = "#" * round(done * BAR_WIDTH)
        end = "\n" if run.state == Run.State.COMMITTED else ""
        self.stderr.write(
            f"\rrun {run.pk} [{bar:.<{BAR_WIDTH}}] {run.rows:,} of {run.rows_expected:,} rows ", ending=end
        )
        self.stderr.flush()

    def _runs(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        runs, at = list(Run.objects.order_by("-pk")[: options["last"]]), horizon.read()
        document = {
            "horizon": at and {"below": at.below, "moved_at": at.moved_at.isoformat(), "holds": at.holds},
            "runs": [run_document(run) for run in runs],
        }
        lines = [_line(run) for run in runs] or ["Nothing was archived yet: manage.py pipeline archive"]
        if at:
            waits = "waits for" if at.holds else "does not wait for"
            lines.append(
                f"horizon: below transaction {at.below}, since {at.moved_at:%Y-%m-%d %H:%M:%S} UTC; history {waits} it"
            )
        return document, lines

    def _release(self, options: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        released = horizon.release()
        if released:
            audit.record(ACTOR, "archive.release")
        words = "History no longer waits for the archive." if released else "History was not waiting for the archive."
        return {"released": released}, [words]


def run_document(run: Run) -> dict[str, Any]:
    """A run for programs."""
    return {
        "id": run.pk,
        "kind": run.kind,
        "state": run.state,
        "url": run.url,
        "low": run.low,
        "high": run.high,
        "rows": run.rows,
        "rows_expected": run.rows_expected,
        "files": run.files.count(),
        "bytes": run.bytes,
        "attempts": run.attempts,
        "opened_at": run.opened_at.isoformat(),
        "finished_at": run.finished_at and run.finished_at.isoformat(),
        "seconds": run.seconds,
        "started_by": run.started_by,
        "error": run.error,
    }


def _line(run: Run) -> str:
    opened = f"{run.opened_at:%Y-%m-%d %H:%M:%S} UTC"
    what = f"{run.kind} {run.pk}: {run.state}, {run.rows:,} rows, {run.bytes:,} bytes, opened {opened}"
    return f"{what}. {run.error}" if run.error else what


def _verb(verbs: Any, name: str, words: str) -> ArgumentParser:
    parser: ArgumentParser = verbs.add_parser(name, help=words)
    parser.add_argument("--json", action="store_true", help="for programs")
    return parser
