"""Redrives: dead letters that a filter selects, sent again at a limited rate, each exactly once.

A batch changes its messages, the cursor and the counts in one transaction under the lock of the redrive's row. If a
process dies, its batch is rolled back as a whole, and the next process continues at the cursor.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from dlq.jobs import approvals, confirmations, lifecycle, runner
from dlq.jobs.models import Job, Redrive
from dlq.redrives import adaptive_rate, canary, moving, outcomes, plans
from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import MAX_RATE_PER_SECOND, Options
from dlq.redrives.staged import moving as staged_moving
from dlq.redrives.staged import sets
from dlq.redrives.token_bucket import TokenBucket
from dlq.search import selecting
from dlq.search.counting import BoundedCount
from queues.errors import InvalidArgument, SignalboxError

# A commit takes the same time for any number of messages. A batch holds its locks for some tens of milliseconds.
BATCH_MESSAGES = 2_000
# The wait after a destination has refused messages because of its limits; much shorter than the lease of a batch.
QUOTA_SECONDS = 1.0
# Fields of a plan that a redrive keeps.
COPIED = ("filter_text", "as_of", "lower_bound", "upper_bound", "staging", "source_queues")


CONFIRMATION_WORD = "redrive"


class PlanNotFound(SignalboxError):  # noqa: N818 - as in queues.errors
    """The plan does not exist, or is not a plan of a redrive."""


def run(
    plan_id: int,
    *,
    actor: str,
    reason: str = "",
    wake: bool = True,
    may_reveal: bool = False,
    confirmed: bool = True,
    **otherwise: Any,
) -> Redrive:
    """Start the redrive of a plan. `otherwise` replaces some options of the plan.

    A target that shows fields which are masked now is refused, unless the actor `may_reveal` them: rules may have
    changed since the plan. A large redrive must be `confirmed` by a typed word. One redrive of a plan runs at a time; a
    later one sends the messages that are left. Raises `PlanNotFound`, `InvalidArgument`, `QueueNotFound`,
    `QueueClosed`.
    """
    with transaction.atomic():
        plan = Plan.objects.select_for_update().filter(pk=plan_id, kind=Plan.Kind.REDRIVE).first()
        if plan is None:
            raise PlanNotFound(f"there is no plan {plan_id} of a redrive")
        approvals.expire(Redrive)  # an expired approval must not block another redrive
        if (other := plan.redrives.filter(state__in=Job.UNDECIDED_STATES).first()) is not None:
            state = "Already awaiting approval" if other.is_awaiting else "Already running"
            raise InvalidArgument(f"{state} as redrive #{other.pk}", "plan_id")
        if plan.staging_id is not None:
            sets.hold(plan.staging_id)
        options = replace(plan.choices, **otherwise).checked()
        if options.target_queue is not None:
            plans.check_target(options.target_queue)
        if not may_reveal:
            plans.check_masks_of(plan, options.target_queue)
        job = _job_of(plan, options, actor, reason)
        if not confirmed and confirmations.must_confirm(job):
            raise InvalidArgument(f"Type the word {CONFIRMATION_WORD}.", "confirmation")
        return lifecycle.start(job, wake=wake, fingerprints=plan.fingerprints)


def _job_of(plan: Plan, options: Options, actor: str, reason: str) -> Redrive:
    # Where the size decides whether approval is needed, count the messages at this moment.
    counted = BoundedCount(plan.count, plan.count_is_exact)
    count = counted if lifecycle.threshold(Redrive.NOUN) is None else plans.count_now(plan)
    return Redrive(
        plan=plan,
        **{name: getattr(plan, name) for name in COPIED},
        cursor=plan.lower_bound,
        total_estimate=count.number,
        total_is_exact=count.exact,
        target_queue=options.target_queue,
        rate_per_second=options.rate_per_second,
        options=options.as_json(),
        created_by=actor,
        reason=reason or plan.reason,
        **canary.first_step(options, plan.impact.canaries),
    )


def resume(redrive_id: int, *, actor: str, reason: str = "") -> bool:
    """Continue a paused redrive, without catching up for the pause. False when it was not paused."""
    with transaction.atomic():
        job = Redrive.objects.select_for_update().filter(pk=redrive_id).first()
        step = canary.same_step_again(job) if job else {}
        rested = {"tokens": 0.0, "burst_tokens": 0.0, "refilled_at": None, "note": "", "stopped_because": ""}
        return lifecycle.resume(Redrive, redrive_id, actor=actor, reason=reason, **rested, **step)


def set_rate(redrive_id: int, rate_per_second: int | None, *, actor: str, reason: str = "") -> bool:
    """Change the rate from the next batch on. False when the redrive has already ended."""
    Options(rate_per_second=rate_per_second).checked()
    with transaction.atomic():
        active = Redrive.objects.select_for_update().filter(pk=redrive_id, state__in=Job.ACTIVE_STATES).first()
        if active is None:
            return False
        change = {"before": active.rate_per_second, "after": rate_per_second}
        active.rate_per_second = rate_per_second
        active.save(update_fields=["rate_per_second"])
        lifecycle.record(active, "set_rate", actor, reason, rate_per_second=change)
        return True


def _batch(job: Redrive, now: datetime) -> float | None:
    options = job.choices
    if _wants_outcomes(job, options, now):
        outcomes.look(job, now)
    if because := canary.judge(job, now):
        return _stop(job, because)
    if canary.is_waiting(job):
        return canary.wait(job)
    adaptive_rate.consider(job, options, now)
    return _send(job, options, now)


def _wants_outcomes(job: Redrive, options: Options, now: datetime) -> bool:
    """Tell whether a rule of the job needs outcomes, and the last look was a moment ago."""
    needed = options.has_canary or options.slow_failed_percent or options.has_stop_rules
    if not needed or not job.moved:
        return False
    if job.looked_at is None:
        return True
    return abs(now - job.looked_at) >= timedelta(seconds=canary.POLL_SECONDS)


def _send(job: Redrive, options: Options, now: datetime) -> float | None:
    bucket = _token_bucket(job, now)
    whole = BATCH_MESSAGES if job.staging_id is None else min(BATCH_MESSAGES, staged_moving.BATCH_MESSAGES)
    most = moving.BATCH_PATCHED if options.patch_kind else whole
    allowed = min(most, bucket.allowed) if bucket else most
    if job.step_limit is not None:
        allowed = min(allowed, canary.room(job))
    moved, waits = 0, False
    if allowed:
        done = _take(job, allowed, options)
        moved, waits = done.number, bool(done.waits_for)
        _note(job, done)
    if bucket:
        bucket = bucket.without(moved)
        job.tokens, job.burst_tokens, job.refilled_at = bucket.tokens, bucket.burst_tokens, bucket.refilled_at
    if job.cursor >= job.upper_bound and not job.canaries:
        return None
    rest = QUOTA_SECONDS if waits else 0.0
    return max(rest, bucket.seconds_to_next) if bucket else rest


def _take(job: Redrive, limit: int, options: Options) -> moving.Moved:
    """Send the next dead letters or staged messages, the canaries first, and move the cursor of the job behind them.

    Each message leaves its source in the same transaction.
    """
    dead, staged = (selecting.next_ids, moving.move), (staged_moving.next_ids, staged_moving.move)
    walk, move = dead if job.staging_id is None else staged
    first = job.canaries[:limit]
    following = selecting.NextIds(first, job.cursor) if first else walk(job, limit)
    done = move(job, following.ids, options) if following.ids else moving.Moved(0, Counter())
    if first:
        job.canaries = [*done.unsent, *job.canaries[limit:]]
    else:
        job.cursor = done.unsent[0] - 1 if done.unsent else following.cursor
    return done


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
    """Pause the redrive, so that people can look at the failures."""
    job.stopped_because, job.note, job.state = f"Stopped by itself: {because}", "", Job.State.PAUSED
    lifecycle.record(job, "stop", lifecycle.ENGINE, job.stopped_because)
    return 0.0


def _token_bucket(job: Redrive, now: datetime) -> TokenBucket | None:
    """Return the token bucket of the job, empty at its start and after a pause; None without a rate limit."""
    rate = job.rate_per_second
    if job.slowed_rate is not None:
        rate = max(1, min(int(job.slowed_rate), rate or MAX_RATE_PER_SECOND))
    if rate is None:
        return None
    return TokenBucket(rate, job.tokens, job.burst_tokens, job.refilled_at or now).refilled(now)


WORK = runner.Work(Redrive, _batch)
pause, cancel, run_slice, run_in_foreground = WORK.pause, WORK.cancel, WORK.run_slice, WORK.run_in_foreground
