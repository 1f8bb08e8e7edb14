"""Replay runs: stage the archived messages that a filter selects, freeze the staging set, and make a redrive plan.

A run sends nothing: its tasks write to the staging tables, and the plan is run like every redrive. The plan is the
commit point: rows of a run that died before it are never read, and are deleted later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from dlq.filters import Filter, parse
from dlq.redrives.staged import plans, sets
from pipeline.errors import Busy, CountsDiffer, TooMuch
from pipeline.jobs import runs
from pipeline.jobs.runs import alone
from pipeline.models import ArchiveFile, Run
from pipeline.replay import choosing
from pipeline.replay.replay_arguments import ReplayRequest
from pipeline.replay.staging_part import StagingTarget
from queues.database.connections import session_dsn
from signalbox.connections.primary_selection import address_of_one

CLEAR_SECONDS = 10.0
"""Time for deleting rows of discarded staging sets; workers delete the rest."""
BUSY = "Another replay is being staged: try again when it has ended."
CANCELLED = "The replay was cancelled; nothing is staged."


@dataclass(frozen=True)
class Selection:
    """The parsed filter, the kinds and times of messages, and the moment that ages in the filter count back from."""

    filter: Filter
    kinds: Sequence[str]
    since: datetime | None
    until: datetime | None
    as_of: datetime


@dataclass(frozen=True)
class Counted:
    """Counts of the selected messages; `bodiless` counts further ones whose body is not in the archive."""

    rows: int
    bytes: int
    bodiless: int = field(default=0)


class Choice(Protocol):
    """The messages of a selection; `pipeline.replay.replay_choice` computes them with Spark."""

    def counted(self) -> Counted: ...

    def write(self, target: StagingTarget) -> int:
        """Stage the messages; return how many rows are staged."""
        ...


Choose = Callable[[QuerySet[ArchiveFile], Selection], Choice]


def stage(choose: Choose, request: ReplayRequest, *, actor: str) -> tuple[Any, Run]:
    """Stage the requested messages; return the plan and the run.

    Raises `FilterError`, `PipelineError`, `SignalboxError`.
    """
    read, options = parse(request.filter_text), plans.check(request.options)
    choosing.check(read, request.kinds)
    with _alone(actor):
        runs.fail_dead(Run.Kind.REPLAY, _fail)
        sets.clear(CLEAR_SECONDS)
        with runs.begun(Run.Kind.REPLAY, actor, settings.ARCHIVE_URL, _fail) as run:
            selection = Selection(read, request.kinds, request.since, request.until, run.opened_at)
            staging = _begin_staging(run, selection)
            target = StagingTarget(address_of_one(session_dsn()), staging.pk, staging.token)
            counted = _fill(choose, run, target, selection)
            with transaction.atomic():
                plan = plans.make(
                    staging.pk,
                    staging.token,
                    str(read),
                    rows=counted.rows,
                    as_of=selection.as_of,
                    actor=actor,
                    reason=request.reason,
                    options=options,
                )
                outcome = run.outcome | {"plan": plan.pk, "bodiless": counted.bodiless}
                runs.commit(run, plan.count, outcome, CANCELLED, bytes=plan.impact.bytes)
        return plan, run


@contextmanager
def _alone(actor: str) -> Iterator[None]:
    """Allow one replay at a time. A refused replay is recorded as a run, because no later run does its work."""
    with ExitStack() as held:
        try:
            held.enter_context(alone("signalbox.replay"))
        except Busy as error:
            refused = Run(kind=Run.Kind.REPLAY, token="", url=settings.ARCHIVE_URL, parts=[], started_by=actor)
            refused.state, refused.error, refused.finished_at = Run.State.FAILED, BUSY, Now()
            refused.save()
            raise Busy(BUSY) from error
        yield


def _begin_staging(run: Run, selection: Selection) -> Any:
    with transaction.atomic():
        staging = sets.begin(selection.kinds, selection.since, selection.until, run.pk)
        run.outcome = {"staging": staging.pk, "filter": str(selection.filter)}
        run.save(update_fields=["outcome"])
    return staging


def _fill(choose: Choose, run: Run, target: StagingTarget, selection: Selection) -> Counted:
    """Count and stage the messages; a count above the limits is refused before anything is written."""
    files = _files(selection)
    if not files.exists():
        return Counted(0, 0)
    choice = choose(files, selection)
    counted = _within_limits(choice.counted())
    _raise_if_cancelled(run)
    if counted.rows and (written := choice.write(target)) != counted.rows:
        raise CountsDiffer(f"{written:,} messages were staged, but {counted.rows:,} were selected")
    _raise_if_cancelled(run)
    return counted


def _files(selection: Selection) -> QuerySet[ArchiveFile]:
    files = ArchiveFile.objects.filter(kind__in=selection.kinds).select_related("run").order_by("pk")
    if selection.since:
        files = files.filter(last_at__gte=selection.since)
    return files.filter(first_at__lt=selection.until) if selection.until else files


def _within_limits(counted: Counted) -> Counted:
    for number, limit, what, name in (
        (counted.rows, settings.REPLAY_MAX_MESSAGES, "messages", "REPLAY_MAX_MESSAGES"),
        (counted.bytes, settings.REPLAY_MAX_BYTES, "bytes", "REPLAY_MAX_BYTES"),
    ):
        if number > limit:
            raise TooMuch(
                f"the filter selects {number:,} {what}; allowed: {limit:,} ({name}). Narrow the filter or the time."
            )
    return counted


def _fail(run: Run, error: Exception) -> None:
    """Fail a run, and discard its staging set."""
    runs.fail(run, error)
    if "staging" in run.outcome:
        sets.discard(run.outcome["staging"])


def _raise_if_cancelled(run: Run) -> None:
    runs.raise_if_cancelled(Run.Kind.REPLAY, CANCELLED)
    Run.objects.filter(pk=run.pk).update(seen_at=Now())
