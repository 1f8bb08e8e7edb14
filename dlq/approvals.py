"""The second person: above a threshold a job waits until somebody else approves it, refuses it, or the time is up.

That nobody decides about his own job is said here, and by a constraint of the table (`dlq.models`).
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from dlq import jobs
from dlq.finding import Query
from dlq.kicks import kick
from dlq.models import Deletion, Job, Purge, Redrive, Undo
from dlq.plan_options import Options
from queues.errors import InvalidArgument

COUNTS = """
select (select count(*) from signalbox.redrive where state in ('pending', 'running', 'paused')),
  (select count(*) from signalbox.redrive where state = 'awaiting')
  + (select count(*) from signalbox.deletion where state = 'awaiting')
  + (select count(*) from signalbox.purge where state = 'awaiting')
  + (select count(*) from signalbox.undo where state = 'awaiting')
"""

PATCH_CHARACTERS = 500

MODELS: dict[str, type[Job]] = {model.NOUN: model for model in (Redrive, Deletion, Purge, Undo)}


def waiting() -> list[Job]:
    """Every job that waits for a second person, the one that expires next first."""
    found = [job for model in MODELS.values() for job in model._default_manager.filter(state=Job.State.AWAITING)]
    return sorted(found, key=lambda job: (job.approval_expires_at is None, job.approval_expires_at, job.pk))


def counts() -> tuple[int, int]:
    """(redrives under way, jobs that wait for a second person): what the rail says. One query, by small indexes."""
    [(under_way, awaiting)] = Query(COUNTS, []).rows()
    return int(under_way), int(awaiting)


def approve(model: type[Job], job_id: int, *, actor: str, reason: str = "") -> bool:
    """Let the job run as it was asked for. False when it no longer waits. Raises `InvalidArgument` for its author."""
    return _decide(model, job_id, "approve", actor, reason, state=Job.State.PENDING, approved_by=actor)


def refuse(model: type[Job], job_id: int, *, actor: str, reason: str) -> bool:
    """End it before it began. False when it no longer waits. Its author cancels it instead."""
    if not reason.strip():
        raise InvalidArgument("reason is empty: say why, for whoever asked", "reason")
    return _decide(model, job_id, "refuse", actor, reason, state=Job.State.REFUSED, finished_at=jobs.DatabaseClock())


def expire(model: type[Job]) -> int:
    """End what nobody decided about in time; returns how many."""
    late = model._default_manager.filter(
        state=Job.State.AWAITING, approval_expires_at__lte=jobs.DatabaseClock()
    ).values_list("pk", flat=True)
    return sum(_expire(model, job_id) for job_id in list(late))


def _expire(model: type[Job], job_id: int) -> bool:
    with transaction.atomic():
        ended = model._default_manager.filter(
            pk=job_id, state=Job.State.AWAITING, approval_expires_at__lte=jobs.DatabaseClock()
        ).update(state=Job.State.EXPIRED, finished_at=jobs.DatabaseClock())
        if ended:
            jobs.record(model._default_manager.get(pk=job_id), "expire", jobs.ENGINE)
        return bool(ended)


def _decide(model: type[Job], job_id: int, verb: str, actor: str, reason: str, **values: object) -> bool:
    with transaction.atomic():
        job = model._default_manager.select_for_update().filter(pk=job_id, state=Job.State.AWAITING).first()
        if job is None:
            return False
        if job.created_by == actor:
            raise InvalidArgument(f"{job} was asked for by {actor}: somebody else has to decide", "actor")
        decided = model._default_manager.filter(pk=job_id, approval_expires_at__gt=jobs.DatabaseClock()).update(
            decided_at=jobs.DatabaseClock(), decision_reason=reason[:500], **values
        )
        if not decided:
            _expire(model, job_id)  # nobody swept yet
            return False
        job.refresh_from_db()
        jobs.record(job, verb, actor, reason, asked_by=job.created_by)
        if job.state == Job.State.PENDING:
            kick(model.NOUN, job_id)
        return True


@dataclass(frozen=True)
class Effect:
    """One line of what an approved job will do: '-' leaves, '+' comes, '=' is how."""

    sign: str
    words: str


def effects(job: Job) -> list[Effect]:
    """What the job will do, as it was frozen when it was asked for."""
    many = f"{job.total_estimate:,}" if job.total_is_exact else f"more than {job.total_estimate:,}"
    return [*_moves(job, many), *(_option(name, value) for name, value in _frozen(job))]


def _moves(job: Job, many: str) -> list[Effect]:
    if isinstance(job, Redrive):
        target = job.target_queue or "the queues they died in"
        return [
            Effect("-", f"{many} dead letters"),
            Effect("+", f"as many messages in {target}"),
            *([Effect("+", _rewriting(job.choices))] if job.choices.patch_kind else []),
        ]
    if isinstance(job, Undo):
        return [
            Effect("-", f"{many} messages in the trash of {job.undoes_noun} {job.undoes_id}"),
            Effect("+", "as many messages where they were"),
        ]
    if isinstance(job, Purge | Deletion):
        what = f"messages in {job.queue_name}" if isinstance(job, Purge) else "dead letters"
        kept = f"as many in the trash, for {job.trash_hours} hours" if job.trash_hours else ""
        return [Effect("-", f"{many} {what}"), *([Effect("+", kept)] if kept else [])]
    return [Effect("=", f"{many} messages")]


def _rewriting(options: Options) -> str:
    text = options.patch_text
    shown = text if len(text) <= PATCH_CHARACTERS else f"{text[:PATCH_CHARACTERS]}… (the plan has all of it)"
    return f"other payloads, by a {'merge patch' if options.patch_kind == 'merge' else 'JSON patch'}: {shown}"


def _frozen(job: Job) -> list[tuple[str, object]]:
    """What the audit keeps of a job that has not begun is how it will run; what it counts is still nought."""
    own = f"{job.NOUN}_id"
    return [(name, value) for name, value in job.summary().items() if value and name != own]


def _option(name: str, value: object) -> Effect:
    words = ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)
    return Effect("=", f"{name.replace('_', ' ')}: {words}")
