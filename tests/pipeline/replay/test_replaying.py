"""A replay run up to its plan: what it refuses, what it leaves when it fails, and kill -9 at every step."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import pytest

from dlq.filters import FilterError
from dlq.redrives import redrives
from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import Options
from dlq.redrives.staged import plans, sets
from dlq.redrives.staged.models import StagedMessage, Staging
from pipeline.errors import Busy, Cancelled, CountsDiffer, TooMuch
from pipeline.jobs import starting
from pipeline.jobs.runs import alone
from pipeline.models import Run
from pipeline.replay import replaying
from pipeline.replay.replay_arguments import ReplayRequest
from pipeline.replay.replay_choice import SparkChoice
from pipeline.replay.staging_part import StagingTarget
from queues.errors import QueueNotFound
from tests.dlq.redrives.stagings import left, sent_to
from tests.engine import Engine
from tests.pipeline.conftest import Archive, settle
from tests.pipeline.forks import Forks
from tests.pipeline.replay.choices import plainly
from tests.races.sessions import until

MESSAGES = 12


@pytest.fixture
def wanted(archive: Archive, engine: Engine, make_engine: Callable[..., Engine]) -> ReplayRequest:
    """Archive of all completed messages of a queue."""
    settle(engine, MESSAGES)
    archive.run()
    return ReplayRequest(f"queue:{engine.queue}", Options(target_queue=make_engine().queue))


@pytest.fixture(autouse=True)
def earlier(commits: None) -> int:
    """The newest set that other tests have left."""
    return max(Staging.objects.values_list("pk", flat=True), default=0)


def is_cleared(earlier: int) -> bool:
    """Return whether no set of this test is being filled, and no row of earlier sets is left."""
    sets.clear(60)
    begun = Staging.objects.filter(pk__gt=earlier)
    return not begun.filter(state__in=["filling", "clearing"]).exists()


def test_what_was_chosen_becomes_a_plan_of_just_that(wanted: ReplayRequest) -> None:
    plan, run = replaying.stage(plainly(), wanted, actor="ann")

    assert (plan.count, plan.count_is_exact, plan.created_by, len(left(plan))) == (MESSAGES, True, "ann", MESSAGES)
    assert (run.state, run.kind, run.rows, run.outcome["plan"]) == ("committed", "replay", MESSAGES, plan.pk)
    assert Staging.objects.get(pk=plan.staging_id).run_id == run.pk


def test_an_archive_of_nothing_makes_a_plan_of_nothing(archive: Archive, engine: Engine) -> None:
    plan, run = replaying.stage(plainly(), ReplayRequest("", Options(target_queue=engine.queue)), actor="ann")

    assert (plan.count, run.state) == (0, "committed")


def test_a_window_takes_files_of_its_time(wanted: ReplayRequest) -> None:
    early = ReplayRequest(wanted.filter_text, wanted.options, until=datetime(2020, 1, 1, tzinfo=UTC))
    late = ReplayRequest(wanted.filter_text, wanted.options, since=datetime(2020, 1, 1, tzinfo=UTC))

    assert replaying.stage(plainly(), early, actor="ann")[0].count == 0
    assert replaying.stage(plainly(), late, actor="ann")[0].count == MESSAGES


@pytest.mark.parametrize(
    ("filter_text", "options", "error"),
    [
        ("class:X", None, FilterError),
        ("quue:x", None, FilterError),
        ("", Options(target_queue="nowhere"), QueueNotFound),
    ],
)
def test_what_cannot_be_begins_no_run(
    archive: Archive, engine: Engine, filter_text: str, options: Options | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        replaying.stage(
            plainly(), ReplayRequest(filter_text, options or Options(target_queue=engine.queue)), actor="ann"
        )

    assert not Run.objects.exists()


@pytest.mark.parametrize("limit", ["REPLAY_MAX_MESSAGES", "REPLAY_MAX_BYTES"])
def test_too_much_is_refused_before_anything_is_staged(
    wanted: ReplayRequest, settings: Any, limit: str, earlier: int
) -> None:
    setattr(settings, limit, MESSAGES - 1)

    with pytest.raises(TooMuch, match=limit):
        replaying.stage(plainly(), wanted, actor="ann")

    run = Run.objects.get(kind="replay")
    assert (run.state, limit in run.error) == ("failed", True)
    assert not StagedMessage.objects.filter(staging_id=run.outcome["staging"]).exists()
    assert is_cleared(earlier)


def test_a_cancelled_replay_stages_nothing(wanted: ReplayRequest, earlier: int) -> None:
    def cancel(step: str) -> None:
        if step == "part 1":
            assert starting.cancel(Run.objects.get(kind="replay").pk, actor="ann")

    with pytest.raises(Cancelled, match="nothing is staged"):
        replaying.stage(plainly(cancel), wanted, actor="ann")

    run = Run.objects.get(kind="replay")
    assert run.state == "cancelled"
    assert is_cleared(earlier)
    assert not StagedMessage.objects.filter(staging_id=run.outcome["staging"]).exists()


def test_one_that_is_refused_while_another_is_staged_says_so(wanted: ReplayRequest) -> None:
    """The run's row is the only answer to a request for a worker."""
    with alone("signalbox.replay"), pytest.raises(Busy, match="try again"):
        replaying.stage(plainly(), wanted, actor="ann")

    run = Run.objects.get(kind="replay")
    assert (run.state, run.started_by, "try again" in run.error) == ("failed", "ann", True)


def test_a_cancel_in_time_makes_no_plan(wanted: ReplayRequest, earlier: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run's row still says running at the time of the question."""
    make, plans_before = plans.make, Plan.objects.count()

    def made_slowly(*given: Any, **options: Any) -> Plan:
        assert starting.cancel(Run.objects.get(kind="replay").pk, actor="ann")
        return make(*given, **options)

    monkeypatch.setattr(plans, "make", made_slowly)
    with pytest.raises(Cancelled, match="nothing is staged"):
        replaying.stage(plainly(), wanted, actor="ann")

    assert Run.objects.get(kind="replay").state == "cancelled"
    assert Plan.objects.count() == plans_before
    assert is_cleared(earlier)


def test_a_cancel_interrupts_what_spark_has_under_way(commits: None, archive: Archive) -> None:
    run = Run.objects.create(kind=Run.Kind.REPLAY, token="", url="", parts=[], started_by="tests")
    choice, interrupted = SparkChoice.__new__(SparkChoice), threading.Event()
    choice.spark, choice.rows = mock.Mock(), mock.Mock()
    choice.spark.interruptAll = interrupted.set

    def never_ends() -> None:
        assert starting.cancel(run.pk, actor="ann")
        assert interrupted.wait(60)
        raise RuntimeError("interrupted")

    choice.rows.where.return_value.mapInArrow.return_value.toArrow = never_ends

    with pytest.raises(Cancelled):
        choice.write(StagingTarget("", 0, ""))


def test_a_part_that_is_lost_makes_no_plan(
    wanted: ReplayRequest, monkeypatch: pytest.MonkeyPatch, earlier: int
) -> None:
    monkeypatch.setattr("tests.pipeline.replay.choices.write_part", lambda place, part, batches: len(list(batches)))

    with pytest.raises(CountsDiffer):
        replaying.stage(plainly(), wanted, actor="ann")

    assert is_cleared(earlier)


STEPS = ["begun", "counted", "within part 0", "part 0", "within part 1", "part 1", "committing", "committed"]


@pytest.mark.proof
@pytest.mark.timeout(600)
@pytest.mark.parametrize("step", STEPS)
def test_whatever_a_kill_leaves_each_message_is_sent_once(
    wanted: ReplayRequest, engine: Engine, make_engine: Callable[..., Engine], forks: Forks, step: str, earlier: int
) -> None:
    plans_before, target = Plan.objects.count(), make_engine()

    killed = forks.run("tests.pipeline.replay.killed_replay", engine.queue, target.queue, step)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert Plan.objects.count() - plans_before == (step == "committed")
    if step != "committed":
        again = ReplayRequest(wanted.filter_text, Options(target_queue=target.queue))
        until_alone(lambda: replaying.stage(plainly(), again, actor="ann"))
    plan = Plan.objects.latest("pk")
    job = redrives.run_in_foreground(redrives.run(plan.pk, actor="ann", wake=False).pk)

    assert (job.state, job.moved) == ("done", MESSAGES)
    assert sorted(sent_to(target)) == list(range(MESSAGES))
    assert is_cleared(earlier)
    assert not StagedMessage.objects.filter(staging_id__gt=earlier).exists()
    assert not Run.objects.filter(state="running").exists()


def until_alone(act: Callable[[], object]) -> None:
    """The server may not know yet that the process that was killed is gone."""

    def tried() -> bool:
        try:
            act()
        except Busy:
            return False
        return True

    until(tried, "the end of the process that was staging")
