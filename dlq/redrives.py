"""Redrives: dead letters that a filter selects, sent again at a pace, each exactly once.

A batch moves its messages, the cursor and the counts in one transaction under the lock of the redrive's row. A
process that dies in the middle undoes all of it or none, and the next one goes on at the cursor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from dlq import approvals, canary, jobs, moving, outcomes, plans, runner, slowing, sources, staging
from dlq.counting import BoundedCount
from dlq.models import MAX_RATE_PER_SECOND, Job, Plan, Redrive
from dlq.plan_options import Options
from dlq.thresholds import threshold
from dlq.throttle import Pace
from queues.errors import InvalidArgument, SignalboxError

# A commit takes as long for many as for few; what a batch locks is locked for some tens of milliseconds.
BATCH_MESSAGES = 2_000
# After a destination has refused more: its limits say for how long, and a batch never waits for as long as its lease.
QUOTA_SECONDS = 1.0


class PlanNotFound(SignalboxError):  # noqa: N818 - as in queues.errors
    """There is no such plan."""


def create(
    filter_text: str,
    upper_bound: int,
    *,
    actor: str,
    reason: str,
    as_of: datetime | None = None,
    may_reveal: bool = False,
    **options: Any,
) -> Redrive:
    """Plan a redrive of what the filter selects up to a dead-letter id, and run the plan at once.

    Raises `FilterError`, `InvalidArgument`, and for the target `QueueNotFound` and `QueueClosed`.
    """
    plan = plans.make(
        filter_text,
        actor=actor,
        reason=reason,
        options=Options(**options),
        upper_bound=upper_bound,
        as_of=as_of,
        may_reveal=may_reveal,
    )
    return run(plan.pk, actor=actor, reason=reason, may_reveal=may_reveal)


def run(
    plan_id: int, *, actor: str, reason: str = "", kicked: bool = True, may_reveal: bool = False, **otherwise: Any
) -> Redrive:
    """Start the redrive that a plan describes, with some of its options `otherwise`.

    A target that shows what is masked now is refused, unless the actor `may_reveal` it: rules may have changed since
    the plan. Raises `PlanNotFound`, `InvalidArgument`, `QueueNotFound`, `QueueClosed`. A plan is run by one redrive at
    a time; run again, it takes what is left.
    """
    with transaction.atomic():
        plan = Plan.objects.select_for_update().filter(pk=plan_id, kind=Plan.Kind.REDRIVE).first()
        if plan is None:
            raise PlanNotFound(f"there is no plan {plan_id} of a redrive")
        approvals.expire(Redrive)  # what nobody decided about in time stands in nobody's way
        if (other := plan.redrives.filter(state__in=Job.UNDECIDED_STATES).first()) is not None:
            verb = "waits for approval as" if other.is_awaiting else "is being run by"
            raise InvalidArgument(f"plan {plan_id} {verb} redrive {other.pk}", "plan_id")
        if plan.staging_id is not None:
            staging.hold(plan.staging_id)
        options = replace(plan.choices, **otherwise).checked()
        if options.target_queue is not None:
            plans.check_target(options.target_queue)
        if not may_reveal:
            plans.check_masks_of(plan, options.target_queue)
        return jobs.start(_job_of(plan, options, actor, reason), kicked=kicked)


def _job_of(plan: Plan, options: Options, actor: str, reason: str) -> Redrive:
    # Where size decides who may run it, the size at this moment.
    counted = BoundedCount(plan.count, plan.count_is_exact)
    count = counted if threshold(Redrive.NOUN) is None else plans.count_now(plan)
    return Redrive(
        plan=plan,
        filter_text=plan.filter_text,
        as_of=plan.as_of,
        lower_bound=plan.lower_bound,
        upper_bound=plan.upper_bound,
        cursor=plan.lower_bound,
        staging=plan.staging,
        total_estimate=count.number,
        total_is_exact=count.exact,
        source_queues=plan.source_queues,
        target_queue=options.target_queue,
        rate_per_second=options.rate_per_second,
        options=options.as_json(),
        created_by=actor,
        reason=reason or plan.reason,
        **canary.first_step(options, plan.radius["canaries"]),
    )


def pause(redrive_id: int, *, actor: str, reason: str = "") -> bool:
    """Stop after the batch under way. False when it was not pending or running."""
    return jobs.pause(Redrive, redrive_id, actor=actor, reason=reason)


def resume(redrive_id: int, *, actor: str, reason: str = "") -> bool:
    """Go on where it stopped, and no faster for having rested. False when it was not paused."""
    with transaction.atomic():
        job = Redrive.objects.select_for_update().filter(pk=redrive_id).first()
        anew = canary.same_step_again(job) if job else {}
        rested = {"tokens": 0.0, "burst_tokens": 0.0, "refilled_at": None, "note": "", "stopped_because": ""}
        return jobs.resume(Redrive, redrive_id, actor=actor, reason=reason, **rested, **anew)


def cancel(redrive_id: int, *, actor: str, reason: str = "") -> bool:
    """Stop for good; the rest stays dead. False when it was over already."""
    return jobs.cancel(Redrive, redrive_id, actor=actor, reason=reason)


def set_rate(redrive_id: int, rate_per_second: int | None, *, actor: str, reason: str = "") -> bool:
    """Change the pace from the next batch on. False when the redrive was over already."""
    _check_rate(rate_per_second)
    with transaction.atomic():
        active = Redrive.objects.select_for_update().filter(pk=redrive_id, state__in=Job.ACTIVE_STATES).first()
        if active is None:
            return False
        change = {"before": active.rate_per_second, "after": rate_per_second}
        active.rate_per_second = rate_per_second
        active.save(update_fields=["rate_per_second"])
        jobs.record(active, "set_rate", actor, reason, rate_per_second=change)
        return True


def run_slice(redrive_id: int, seconds: float = runner.SLICE_SECONDS) -> runner.Ending:
    """What one Celery task does."""
    return runner.run_slice(WORK, redrive_id, seconds)


def run_in_foreground(
    redrive_id: int, seconds: float = runner.SLICE_SECONDS, tell: Callable[[Redrive], None] | None = None
) -> Redrive:
    """Run it here, without Celery, until it is over or paused."""
    return runner.run_to_the_end(WORK, redrive_id, seconds, tell)


def _check_rate(rate_per_second: int | None) -> None:
    if rate_per_second is not None and not 1 <= rate_per_second <= MAX_RATE_PER_SECOND:
        raise InvalidArgument(
            f"rate_per_second is {rate_per_second}: it must be from 1 to {MAX_RATE_PER_SECOND}", "rate_per_second"
        )


def _batch(job: Redrive, now: datetime) -> float | None:
    options = job.choices
    if (options.has_canary or options.slow_failed_percent) and _wants_news(job, now):
        outcomes.look(job, now)
    if job.step_limit is not None:
        if because := canary.judge(job):
            return _stop(job, because)
        if not canary.room(job):
            return canary.wait(job)
    slowing.consider(job, options, now)
    return _send(job, options, now)


def _send(job: Redrive, options: Options, now: datetime) -> float | None:
    source = sources.of(job)
    pace, most = _pace(job, now), moving.BATCH_PATCHED if options.patch_kind else min(BATCH_MESSAGES, source.most)
    allowed = min(most, pace.allowed) if pace else most
    if job.step_limit is not None:
        allowed = min(allowed, canary.room(job))
    moved, waits = 0, False
    if allowed:
        done = sources.take(source, job, allowed, options)
        moved, waits = done.number, bool(done.waits_for)
        _note(job, done)
    if pace:
        pace = pace.without(moved)
        job.tokens, job.burst_tokens, job.refilled_at = pace.tokens, pace.burst_tokens, pace.refilled_at
    if job.cursor >= job.upper_bound and not job.canaries:
        return None
    rest = QUOTA_SECONDS if waits else 0.0
    return max(rest, pace.seconds_to_next) if pace else rest


def _note(job: Redrive, done: moving.Moved) -> None:
    job.moved += done.number
    job.skipped += done.left.total()
    job.skipped_why = dict(Counter(job.skipped_why) + done.left)
    job.watching = job.watching or done.number > 0
    if job.slowed_rate is None:
        job.note = ""
    if done.waits_for:
        job.note = f"Waits for room: {done.waits_for}."[:500]


def _stop(job: Redrive, because: str) -> float:
    """Pause for people to look; the next batch does not come."""
    job.stopped_because, job.note, job.state = f"Stopped by itself: {because}", "", Job.State.PAUSED
    jobs.record(job, "stop", jobs.ENGINE, job.stopped_because)
    return 0.0


def _wants_news(job: Redrive, now: datetime) -> bool:
    return job.looked_at is None or abs(now - job.looked_at) >= timedelta(seconds=canary.POLL_SECONDS)


def _pace(job: Redrive, now: datetime) -> Pace | None:
    """How fast the job may go now; None without a rate. A job that starts, or rested, starts from nothing."""
    rate = job.rate_per_second
    if job.slowed_rate is not None:
        rate = max(1, min(int(job.slowed_rate), rate or MAX_RATE_PER_SECOND))
    if rate is None:
        return None
    return Pace(rate, job.tokens, job.burst_tokens, job.refilled_at or now).refilled(now)


WORK = runner.Work(Redrive, _batch)
