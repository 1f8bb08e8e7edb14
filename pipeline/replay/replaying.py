"""Replay runs: what a filter chooses from the archive is staged in the database, frozen, and becomes a plan.

No run sends anything. Tasks write into the staging alone; the plan over it runs as every redrive does. The commit point
is the plan: a run that dies before it leaves rows that no code reads, and that are cleared away.
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
from pipeline.replay.replay_arguments import Wanted
from pipeline.replay.staging_part import StagingTarget
from queues.database.connections import session_dsn
from signalbox.connections.primary_selection import address_of_one

CLEAR_SECONDS = 10.0
"""For what others have left; more than that is cleared by workers."""
BUSY = "Another replay is being staged: ask again when it has ended."
CANCELLED = "It was cancelled; nothing of it is staged."


@dataclass(frozen=True)
class Chosen:
    """The filter, read, and the moment up to which its ages count."""

    filter: Filter
    kinds: Sequence[str]
    since: datetime | None
    until: datetime | None
    as_of: datetime


@dataclass(frozen=True)
class Counted:
    """The messages that the filter chooses, each once; `bodiless` are those of which the archive has no body."""

    rows: int
    bytes: int
    bodiless: int = field(default=0)


class Choice(Protocol):
    """The choice of messages, wherever it is computed: `pipeline.replay.replay_choice`, in Spark."""

    def counted(self) -> Counted: ...

    def write(self, place: StagingTarget) -> int:
        """Stage it; how many rows are there."""
        ...


Choose = Callable[[QuerySet[ArchiveFile], Chosen], Choice]


def stage(choose: Choose, wanted: Wanted, *, actor: str) -> tuple[Any, Run]:
    """Choose, stage and freeze: the plan, and the run. Raises `FilterError`, `PipelineError`, `SignalboxError`."""
    read, options = parse(wanted.filter_text), plans.check(wanted.options)
    choosing.check(read, wanted.kinds)
    with _alone(actor):
        runs.fail_dead(Run.Kind.REPLAY, _fail)
        sets.clear(CLEAR_SECONDS)
        with runs.begun(Run.Kind.REPLAY, actor, settings.ARCHIVE_URL, _fail) as run:
            chosen = Chosen(read, wanted.kinds, wanted.since, wanted.until, run.opened_at)
            held = _begun(run, chosen)
            place = StagingTarget(address_of_one(session_dsn()), held.pk, held.token)
            counted = _fill(choose, run, place, chosen)
            with transaction.atomic():
                plan = plans.make(
                    held.pk,
                    held.token,
                    str(read),
                    rows=counted.rows,
                    as_of=chosen.as_of,
                    actor=actor,
                    reason=wanted.reason,
                    options=options,
                )
                outcome = run.outcome | {"plan": plan.pk, "bodiless": counted.bodiless}
                runs.commit(run, plan.count, outcome, CANCELLED, bytes=plan.impact.bytes)
        return plan, run


@contextmanager
def _alone(actor: str) -> Iterator[None]:
    """Allow one replay at a time. No other run takes over what this one would do, so a refused run is recorded."""
    with ExitStack() as held:
        try:
            held.enter_context(alone("signalbox.replay"))
        except Busy as error:
            refused = Run(kind=Run.Kind.REPLAY, token="", url=settings.ARCHIVE_URL, parts=[], started_by=actor)
            refused.state, refused.error, refused.finished_at = Run.State.FAILED, BUSY, Now()
            refused.save()
            raise Busy(BUSY) from error
        yield


def _begun(run: Run, chosen: Chosen) -> Any:
    with transaction.atomic():
        held = sets.begin(chosen.kinds, chosen.since, chosen.until, run.pk)
        run.outcome = {"staging": held.pk, "filter": str(chosen.filter)}
        run.save(update_fields=["outcome"])
    return held


def _fill(choose: Choose, run: Run, place: StagingTarget, chosen: Chosen) -> Counted:
    """Count first: what is too much is refused before anything is written."""
    files = _files(chosen)
    if not files.exists():
        return Counted(0, 0)
    choice = choose(files, chosen)
    counted = _not_too_much(choice.counted())
    _heed(run)
    if counted.rows and (written := choice.write(place)) != counted.rows:
        raise CountsDiffer(f"{written:,} messages were staged, and {counted.rows:,} were chosen")
    _heed(run)
    return counted


def _files(chosen: Chosen) -> QuerySet[ArchiveFile]:
    files = ArchiveFile.objects.filter(kind__in=chosen.kinds).select_related("run").order_by("pk")
    if chosen.since:
        files = files.filter(last_at__gte=chosen.since)
    return files.filter(first_at__lt=chosen.until) if chosen.until else files


def _not_too_much(counted: Counted) -> Counted:
    for number, most, what, name in (
        (counted.rows, settings.REPLAY_MAX_MESSAGES, "messages", "REPLAY_MAX_MESSAGES"),
        (counted.bytes, settings.REPLAY_MAX_BYTES, "bytes", "REPLAY_MAX_BYTES"),
    ):
        if number > most:
            raise TooMuch(
                f"{number:,} {what} are chosen, and at most {most:,} are staged at once ({name}):"
                " narrow the filter or the time"
            )
    return counted


def _fail(run: Run, error: Exception) -> None:
    """Fail a run, and discard what it has staged."""
    runs.fail(run, error)
    if "staging" in run.outcome:
        sets.discard(run.outcome["staging"])


def _heed(run: Run) -> None:
    runs.heed(Run.Kind.REPLAY, CANCELLED)
    Run.objects.filter(pk=run.pk).update(seen_at=Now())
