"""Progress of a run: a bar on a terminal, nothing in a log, and the run's row for pages."""

from __future__ import annotations

import io
from unittest import mock

import pytest
from django.core.management import call_command

from pipeline.archive import archiving
from pipeline.models import Run
from pipeline.spark import sessions
from pipeline.spark.tasks import OnSpark
from tests.engine import Engine
from tests.pipeline.conftest import Archive, in_this_process, settle


class Terminal(io.StringIO):
    def __init__(self, is_one: bool) -> None:
        super().__init__()
        self.is_one = is_one

    def isatty(self) -> bool:
        return self.is_one


@pytest.mark.parametrize("is_one", [True, False])
def test_a_bar_is_drawn_on_a_terminal_only(archive: Archive, engine: Engine, is_one: bool) -> None:
    settle(engine, 6)
    archive.until_over()
    terminal = Terminal(is_one)

    with (
        mock.patch("sys.stderr", terminal),
        mock.patch.object(OnSpark, "write_parts", lambda self, job, parts: in_this_process(job, parts)),
    ):
        call_command("pipeline", "archive", "--to", archive.url, stdout=io.StringIO(), stderr=terminal)

    run = Run.objects.get()
    drawn = terminal.getvalue()
    assert (f"run {run.pk} [{'#' * 30}] {run.rows:,} of {run.rows:,} rows" in drawn) is is_one
    assert is_one or drawn == ""


@pytest.mark.parametrize("is_one", [True, False])
@pytest.mark.parametrize("verb", ["rollup", "analyse"])
def test_of_other_runs_spark_draws_the_bar(archive: Archive, verb: str, is_one: bool) -> None:
    terminal = Terminal(is_one)

    with mock.patch("sys.stderr", terminal), mock.patch.object(sessions, "open_session") as chosen:
        call_command("pipeline", verb, stdout=io.StringIO(), stderr=terminal)

    _, options, _ = chosen.call_args.args
    assert options["spark.ui.showConsoleProgress"] == ("true" if is_one else "false")


def test_the_row_says_after_each_part_how_far_the_run_is(archive: Archive, engine: Engine) -> None:
    for _ in range(4):
        settle(engine, 5)
    seen = []

    archive.until_over()
    archiving.archive(
        archive.url,
        actor="tests",
        execute=in_this_process,
        report=lambda run: seen.append((Run.objects.get(pk=run.pk).parts_done, Run.objects.get(pk=run.pk).rows)),
        part_rows=5,
    )

    parts = [done for done, _ in seen]
    assert parts == sorted(parts)
    assert set(range(len(Run.objects.get().parts) + 1)) <= set(parts)
    assert seen[-1][1] == Run.objects.get().rows
