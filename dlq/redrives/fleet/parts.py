"""Plan, run, pause, resume, cancel and watch the parts of a redrive over cells.

Each part is an ordinary redrive of its cell, whose worker runs it: it continues while other cells are down. The row
of the redrive over cells names only the plans. The redrive of a plan is read in its cell, so a run that was killed
between two cells is completed by running it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import psycopg
from django.conf import settings
from django.db import Error, transaction

from dlq.jobs.models import Job, Redrive
from dlq.redrives import outcomes, plans, redrives
from dlq.redrives.fleet.models import FleetRedrive
from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import CheckedFilter
from queues import audit
from queues.errors import InvalidArgument, SignalboxError
from queues.fleet import Cell, cells, get_directory
from queues.fleet.cells import visiting
from signalbox.connections.unavailable import Unavailable
from signalbox.logs import in_brief

MAX_AT_ONCE = 16
TURN_SECONDS = 1.0
"""The seconds for which a part runs in the foreground before the next part continues."""
PAUSE_SECONDS = 0.2
OUTAGES = (Error, psycopg.Error, Unavailable)
#: Parts that a further run starts: the other messages of the plan are still dead letters.
STARTABLE = (None, Job.State.CANCELLED, Job.State.FAILED, Job.State.REFUSED, Job.State.EXPIRED)
CHANGES: Mapping[str, Callable[..., bool]] = {
    "pause": redrives.pause,
    "resume": redrives.resume,
    "cancel": redrives.cancel,
}

T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """Part of one cell, as it was read a moment ago. With an error, only its cell and its plan are known."""

    cell: str
    plan_id: int
    plan: Plan | None = None
    job: Redrive | None = None
    warnings: Sequence[str] = ()
    error: str = ""

    @property
    def state(self) -> str:
        """One word: the state of the redrive, "planned" before it has one, or "silent"."""
        if self.error:
            return "silent"
        return self.job.state if self.job else "planned"

    @property
    def has_ended(self) -> bool:
        """Return whether the redrive of the part has ended, as far as its cell answers."""
        return self.job is not None and self.job.state not in Job.UNDECIDED_STATES


def make(filter: CheckedFilter, *, actor: str, reason: str, options: Options, may_reveal: bool = False) -> FleetRedrive:
    """Plan a redrive of the selected dead letters of every cell. A cell that does not answer is left out and named.

    The cells share the rate. Raises what `plans.make` raises where every cell refuses.
    """
    known, options = [*cells()] if get_directory() else [], options.checked()
    of_a_cell = _shared(options, len(known))
    made = _in_each(
        known, lambda: plans.make(filter, actor=actor, reason=reason, options=of_a_cell, may_reveal=may_reveal)
    )
    errors = {name: one for name, one in made.items() if isinstance(one, Exception)}
    if len(errors) == len(made):
        raise next(iter(errors.values()))
    found = {name: plan for name, plan in made.items() if isinstance(plan, Plan)}
    with transaction.atomic():
        redrive = FleetRedrive.objects.create(
            filter_text=str(filter),
            plans={name: plan.pk for name, plan in found.items() if plan.count or not plan.count_is_exact},
            left_out={name: in_brief(error)[:500] for name, error in errors.items()},
            created_by=actor,
            reason=reason[:500],
        )
        audit.record(actor, "fleet_redrive.plan", None, redrive.reason, redrive.summary())
    return redrive


def _shared(options: Options, count: int) -> Options:
    """Return the options of one cell: its share of the rate, rounded up."""
    rate = options.rate_per_second
    return replace(options, rate_per_second=-(-rate // count)) if rate else options


def get(fleet_redrive_id: int) -> FleetRedrive:
    """Find a redrive over cells; raises InvalidArgument."""
    found = FleetRedrive.objects.filter(pk=fleet_redrive_id).first()
    if found is None:
        raise InvalidArgument(f"there is no redrive over cells {fleet_redrive_id}", "fleet_redrive_id")
    return found


def look(redrive: FleetRedrive) -> list[Part]:
    """Read every part in its cell, at the same time; a cell that does not answer is silent."""
    return _parts(redrive, _look)


def run(redrive: FleetRedrive, *, actor: str, reason: str = "", wake: bool = True, **otherwise: Any) -> list[Part]:
    """Start every part that has no redrive yet, and those that were cancelled or failed.

    A part that cannot start is returned with its error; run it again later. `otherwise` is as in `redrives.run`.
    """
    here = get_directory().cell
    if (rate := otherwise.pop("rate_per_second", None)) is not None:
        otherwise["rate_per_second"] = _shared(Options(rate_per_second=rate).checked(), len(cells())).rate_per_second
    with transaction.atomic():
        audit.record(actor, "fleet_redrive.run", None, reason or redrive.reason, redrive.summary())

    def start(part: Part) -> Part:
        if (part.job.state if part.job else None) not in STARTABLE:
            return part
        # With another broker than the database, a wake-up would reach the workers of this cell: a sweep finds the job.
        wakes = wake and (settings.BROKER_IS_DATABASE or part.cell == here)
        return replace(part, job=redrives.run(part.plan_id, actor=actor, reason=reason, wake=wakes, **otherwise))

    return _parts(redrive, lambda part: start(_look(part)))


def change(redrive: FleetRedrive, verb: str, *, actor: str, reason: str = "") -> list[Part]:
    """Pause, resume or cancel every part. Raises InvalidArgument where no part could be changed."""
    changed: list[str] = []

    def one(part: Part) -> Part:
        part = _look(part)
        if part.job is not None and CHANGES[verb](part.job.pk, actor=actor, reason=reason):
            changed.append(part.cell)
            part.job.refresh_from_db()
        return part

    parts = _parts(redrive, one)
    if not changed:
        states = ", ".join(f"{part.cell} {part.state}" for part in parts) or "none"
        raise InvalidArgument(f"no part could be changed: {states}", "fleet_redrive_id")
    with transaction.atomic():
        audit.record(actor, f"fleet_redrive.{verb}", None, reason, redrive.summary() | {"cells": sorted(changed)})
    return parts


def run_in_foreground(redrive: FleetRedrive) -> list[Part]:
    """Run the parts in this process, in turns, until each has ended, is paused, or its cell is silent."""
    while True:
        parts = look(redrive)
        running = [(part.cell, part.job.pk) for part in parts if part.job and part.state in Job.RUNNABLE_STATES]
        if not running:
            return parts
        for name, job_id in running:
            _try(_cell(name), partial(redrives.run_slice, job_id, TURN_SECONDS))
        time.sleep(PAUSE_SECONDS)


def _look(part: Part) -> Part:
    """Read a part, in its cell."""
    plan = Plan.objects.get(pk=part.plan_id)
    job = plan.redrives.order_by("-redrive_id").first()
    if job is not None:
        outcomes.refresh(job.pk)
        job.refresh_from_db()
        return replace(part, plan=plan, job=job)
    return replace(part, plan=plan, warnings=[text for one in plans.destinations(plan) for text in one.warnings])


def _parts(redrive: FleetRedrive, work: Callable[[Part], Part]) -> list[Part]:
    """Call `work` in the cell of every part. A part whose cell fails is returned with the error."""
    known = {cell.name: cell for cell in cells()}
    asked = [Part(name, plan_id) for name, plan_id in sorted(redrive.plans.items())]
    with ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="fleet") as pool:
        futures = [(part, pool.submit(_try, known.get(part.cell), lambda part=part: work(part))) for part in asked]
    return [_part(part, future) for part, future in futures]


def _part(part: Part, future: Future[Part | Exception]) -> Part:
    result = future.result()
    return replace(part, error=in_brief(result)[:500]) if isinstance(result, Exception) else result


def _in_each(known: Sequence[Cell], work: Callable[[], T]) -> dict[str, T | Exception]:
    """Call `work` in every cell at the same time. Return results and errors by the cell's name."""
    with ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="fleet") as pool:
        futures = {cell.name: pool.submit(_try, cell, work) for cell in known}
    return {name: future.result() for name, future in futures.items()}


def _try(cell: Cell | None, work: Callable[[], T]) -> T | Exception:
    """Call `work` in a cell. Return a refusal or an outage instead of raising it."""
    try:
        if cell is None:
            raise InvalidArgument("the cell has left the fleet", "cell")
        with visiting(cell):
            return work()
    except (*OUTAGES, SignalboxError) as error:
        return error


def _cell(name: str) -> Cell | None:
    return next((cell for cell in cells() if cell.name == name), None)
