"""Replay runs: what a filter chooses from the archive is staged in the database, frozen, and becomes a plan.

Nothing here sends anything. Tasks write into the staging alone; the plan over it is run by the machinery that runs
every redrive. The commit point is the plan: what dies before it leaves rows that nobody reads, and that are cleared
away.
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

from dlq import staged_plans, staging
from dlq.filters import Filter, parse
from pipeline.alone import alone
from pipeline.errors import Busy, Cancelled, CountsDiffer, PipelineError, TooMuch
from pipeline.models import ArchiveFile, Run
from pipeline.replay import choosing
from pipeline.replay.staging_part import Place
from pipeline.replay.wanted import Wanted
from queues.connections import session_dsn
from signalbox.epochs import address_of_one
from signalbox.logs import in_brief

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
    """What the filter chooses, each message once; `bodiless` ones too, of which the archive has no body."""

    rows: int
    bytes: int
    bodiless: int = field(default=0)


class Choice(Protocol):
    """What is chosen, wherever it is computed: `pipeline.replay.replay_choice`, in Spark."""

    def counted(self) -> Counted: ...

    def write(self, place: Place) -> int:
        """Stage it; how many rows are there."""
        ...


Choose = Callable[[QuerySet[ArchiveFile], Chosen], Choice]


def stage(choose: Choose, wanted: Wanted, *, actor: str) -> tuple[Any, Run]:
    """Choose, stage and freeze: the plan, and the run. Raises `FilterError`, `PipelineError`, `SignalboxError`."""
    read, options = parse(wanted.filter_text), staged_plans.check(wanted.options)
    choosing.check(read, wanted.kinds)
    with _alone(actor):
        _bury_the_dead()
        run = Run.objects.create(kind=Run.Kind.REPLAY, token="", url=settings.ARCHIVE_URL, parts=[], started_by=actor)
        run.refresh_from_db()
        chosen = Chosen(read, wanted.kinds, wanted.since, wanted.until, run.opened_at)
        try:
            held = _begun(run, chosen)
            place = Place(address_of_one(session_dsn()), held.pk, held.token)
            counted = _fill(choose, run, place, chosen)
            with transaction.atomic():
                plan = staged_plans.make(
                    held.pk,
                    held.token,
                    str(read),
                    rows=counted.rows,
                    as_of=chosen.as_of,
                    actor=actor,
                    reason=wanted.reason,
                    options=options,
                )
                _commit(run, plan.count, plan.radius["bytes"], {"plan": plan.pk, "bodiless": counted.bodiless})
        except Exception as error:
            _fail(run, error)
            raise
        run.refresh_from_db()
        return plan, run


@contextmanager
def _alone(actor: str) -> Iterator[None]:
    """One at a time. Nobody else takes what this one would have taken, so a run says that it was refused."""
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
        held = staging.begin(chosen.kinds, chosen.since, chosen.until, run.pk)
        run.outcome = {"staging": held.pk, "filter": str(chosen.filter)}
        run.save(update_fields=["outcome"])
    return held


def _fill(choose: Choose, run: Run, place: Place, chosen: Chosen) -> Counted:
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


def _commit(run: Run, rows: int, size: int, outcome: dict[str, int]) -> None:
    """In the transaction of the plan."""
    if Run.objects.select_for_update().get(pk=run.pk).cancel_requested:
        raise Cancelled(CANCELLED)  # from here on it is too late to ask
    Run.objects.filter(pk=run.pk).update(
        state=Run.State.COMMITTED,
        rows=rows,
        bytes=size,
        outcome=run.outcome | outcome,
        finished_at=Now(),
        seen_at=Now(),
    )


def _bury_the_dead() -> None:
    """Runs whose process died, and what they had staged."""
    for run in Run.objects.filter(kind=Run.Kind.REPLAY, state=Run.State.RUNNING):
        _fail(run, PipelineError("Its process died; nothing of it counts."))
    staging.clear(CLEAR_SECONDS)


def _fail(run: Run, error: Exception) -> None:
    state = Run.State.CANCELLED if isinstance(error, Cancelled) else Run.State.FAILED
    told = str(error) if isinstance(error, PipelineError) else in_brief(error)
    over = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING)
    over.update(state=state, error=told, finished_at=Now(), seen_at=Now())
    if "staging" in run.outcome:
        staging.discard(run.outcome["staging"])


def _heed(run: Run) -> None:
    if Run.objects.filter(pk=run.pk, cancel_requested=True).exists():
        raise Cancelled(CANCELLED)
    Run.objects.filter(pk=run.pk).update(seen_at=Now())
