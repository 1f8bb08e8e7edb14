"""Results of an analysis replace the results of the last one, completely or not at all."""

from __future__ import annotations

import signal
from datetime import date
from typing import Any
from unittest import mock

import pytest

from pipeline.analysis import analysing
from pipeline.analysis.analysing import Window, _commit, _Result
from pipeline.analysis.analysis_models import Comparison, Finding, Template
from pipeline.errors import Busy, Cancelled
from pipeline.jobs import starting
from pipeline.jobs.runs import alone
from pipeline.models import ArchiveFile, Run
from tests.pipeline.analysis.analysis_result import NOON, result
from tests.pipeline.conftest import Archive
from tests.pipeline.forks import Forks
from tests.races.sessions import until

WINDOW = Window(date(2026, 3, 1), date(2026, 3, 4))


def begun() -> Run:
    return Run.objects.create(kind=Run.Kind.ANALYSE, token="", url="", parts=[], started_by="tests")


def test_a_result_is_written_and_replaced_as_a_whole(archive: Archive) -> None:
    first = begun()
    _commit(first, WINDOW, {}, result("v2:first"))
    second = begun()
    _commit(second, WINDOW, {"made_by": "x"}, result("v2:second"))

    assert [one.cause for one in Comparison.objects.all()] == ["v2:second"]
    (template,) = Template.objects.all()
    assert (template.days, template.trend, template.run_id) == ([0, 10, 0, 80], "rising", second.pk)
    assert (template.error, template.error_class) == ('tab\t, newline\n, \\N and "quotes"', None)
    assert template.queues == [{"queue_id": 7, "queue": None, "tenant": "t", "failures": 90}]
    (finding,) = Finding.objects.all()
    assert (finding.path, finding.value, finding.failures_with) == (["payload", "a", None], '"\u2028x"', 29)
    second.refresh_from_db()
    assert (second.state, second.rows, second.outcome["left_out"]) == (Run.State.COMMITTED, 90, 2)
    assert second.outcome["days"] == ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"]


def test_what_fails_halfway_leaves_the_last_result(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    _commit(begun(), WINDOW, {}, result("v2:first"))
    before = [sorted(map(str, model.objects.values())) for model in (Template, Comparison, Finding)]
    add_file()
    broken = result("v2:second")
    broken.findings[0]["failures_with"] = "no number"
    monkeypatch.setattr(_Result, "of", lambda run, spark, window: broken)

    with pytest.raises(Exception, match="no number"):
        analysing.analyse(no_spark, actor="tests")

    assert [sorted(map(str, model.objects.values())) for model in (Template, Comparison, Finding)] == before
    assert list(Run.objects.filter(kind=Run.Kind.ANALYSE).order_by("pk").values_list("state", flat=True)) == [
        Run.State.COMMITTED,
        Run.State.FAILED,
    ]


def test_a_run_of_a_dead_process_is_closed_and_replaced(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = begun()
    add_file()
    monkeypatch.setattr(_Result, "of", lambda run, spark, window: result("v2:a"))

    done = analysing.analyse(no_spark, actor="tests")

    dead.refresh_from_db()
    assert (dead.state, done.is_new) == (Run.State.FAILED, True)
    assert analysing.analyse(no_spark, actor="tests") == analysing.Analysed(done.run, False)


STEPS = ["begun", "before Template", "before Comparison", "before Finding", "committed"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("step", STEPS)
def test_whatever_a_kill_leaves_there_is_one_whole_result(
    archive: Archive, forks: Forks, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    _commit(begun(), WINDOW, {}, result("v2:first"))
    add_file()

    killed = forks.run("tests.pipeline.analysis.killed_analysis", step)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert causes() == ["v2:second" if step == "committed" else "v2:first"] * 2
    monkeypatch.setattr(_Result, "of", lambda run, spark, window: result("v2:second"))
    done = until(analysed, "the end of the process that was analysing")

    assert causes() == ["v2:second"] * 2
    assert done.is_new == (step != "committed")
    assert not Run.objects.filter(state=Run.State.RUNNING).exists()


def causes() -> list[str]:
    """Rows of the comparisons and of the findings."""
    return [one.cause for model in (Comparison, Finding) for one in model.objects.all()]


def analysed() -> analysing.Analysed | None:
    """Result is None until the server knows that a killed process is gone."""
    try:
        return analysing.analyse(no_spark, actor="tests")
    except Busy:
        return None


def test_a_cancelled_analysis_leaves_the_last_one(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    _commit(begun(), WINDOW, {}, result("v2:first"))
    add_file()

    def cancelled(run: Run, spark: Any, window: Window) -> _Result:
        assert starting.cancel(Run.objects.get(state=Run.State.RUNNING).pk, actor="ann")
        return result("v2:second")

    monkeypatch.setattr(_Result, "of", cancelled)
    with pytest.raises(Cancelled):
        analysing.analyse(mock.Mock, actor="tests")

    run = Run.objects.latest("pk")
    assert (run.kind, run.state, run.error) == (Run.Kind.ANALYSE, Run.State.CANCELLED, str(Cancelled()))
    assert [one.cause for one in Comparison.objects.all()] == ["v2:first"]


def test_one_analyses_at_a_time(archive: Archive) -> None:
    with alone("signalbox.analyse"), pytest.raises(Busy):
        analysing.analyse(no_spark, actor="tests")


def add_file() -> None:
    run = Run.objects.create(
        token="t", url="/x", low=0, high=1, parts=[], state=Run.State.COMMITTED, started_by="tests"
    )
    ArchiveFile.objects.create(
        run=run,
        kind="settled",
        day=date(2026, 3, 2),
        part=0,
        path="a",
        rows=1,
        bytes=1,
        first_at=NOON,
        last_at=NOON,
    )


def no_spark() -> Any:
    return None
