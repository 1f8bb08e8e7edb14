"""Approvals: a job above the limit of its rule waits until a second person decides, or until it expires.

No person may decide about their own job: this module refuses it, and so does a constraint of the table
(`dlq.jobs.models`).
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from dlq.discards.models import Discard
from dlq.jobs import lifecycle
from dlq.jobs.models import Deletion, Job, Purge, Redrive, Undo
from dlq.jobs.wakeup import wake_up
from dlq.redrives.plan_options import Options
from queues.database.query import Query
from queues.errors import InvalidArgument

COUNTS = """
select (select count(*) from signalbox.redrive where state in ('pending', 'running', 'paused')),
  (select count(*) from signalbox.redrive where state = 'awaiting')
  + (select count(*) from signalbox.deletion where state = 'awaiting')
  + (select count(*) from signalbox.purge where state = 'awaiting')
  + (select count(*) from signalbox.undo where state = 'awaiting')
  + (select count(*) from signalbox.discard where state = 'awaiting')
"""

PATCH_CHARACTERS = 500

MODELS: dict[str, type[Job]] = {model.NOUN: model for model in (Redrive, Deletion, Purge, Undo, Discard)}


def waiting() -> list[Job]:
    """List the jobs that await approval, the one that expires next first."""
    found = [job for model in MODELS.values() for job in model._default_manager.filter(state=Job.State.AWAITING)]
    return sorted(found, key=lambda job: (job.approval_expires_at is None, job.approval_expires_at, job.pk))


def counts() -> tuple[int, int]:
    """Return (active redrives, jobs that await approval) for the sidebar. One query, by small indexes."""
    [(under_way, awaiting)] = Query(COUNTS, []).rows()
    return int(under_way), int(awaiting)


def approve(model: type[Job], job_id: int, *, actor: str, reason: str = "") -> bool:
    """Approve the job. False when it no longer awaits approval. Raises `InvalidArgument` for its author."""
    return _decide(model, job_id, "approve", actor, reason, state=Job.State.PENDING, approved_by=actor)


def refuse(model: type[Job], job_id: int, *, actor: str, reason: str) -> bool:
    """Refuse the job. False when it no longer awaits approval. Raises `InvalidArgument` for its author."""
    if not reason.strip():
        raise InvalidArgument("reason is empty: give the requester a reason", "reason")
    return _decide(
        model, job_id, "refuse", actor, reason, state=Job.State.REFUSED, finished_at=lifecycle.DatabaseClock()
    )


def expire(model: type[Job]) -> int:
    """End the jobs whose approval has expired, and return their number."""
    return sum(_expire(model, job_id) for job_id in list(_late(model).values_list("pk", flat=True)))


def _late(model: type[Job]) -> QuerySet[Job]:
    return model._default_manager.filter(state=Job.State.AWAITING, approval_expires_at__lte=lifecycle.DatabaseClock())


def _expire(model: type[Job], job_id: int) -> bool:
    with transaction.atomic():
        ended = _late(model).filter(pk=job_id).update(state=Job.State.EXPIRED, finished_at=lifecycle.DatabaseClock())
        if ended:
            lifecycle.record(model._default_manager.get(pk=job_id), "expire", lifecycle.ENGINE)
        return bool(ended)


def _decide(model: type[Job], job_id: int, verb: str, actor: str, reason: str, **values: object) -> bool:
    with transaction.atomic():
        job = model._default_manager.select_for_update().filter(pk=job_id, state=Job.State.AWAITING).first()
        if job is None:
            return False
        if job.created_by == actor:
            raise InvalidArgument(f"{job} was requested by {actor}: another person must decide", "actor")
        decided = model._default_manager.filter(pk=job_id, approval_expires_at__gt=lifecycle.DatabaseClock()).update(
            decided_at=lifecycle.DatabaseClock(), decision_reason=reason[:500], **values
        )
        if not decided:
            _expire(model, job_id)  # before the sweep did
            return False
        job.refresh_from_db()
        lifecycle.record(job, verb, actor, reason, asked_by=job.created_by)
        if job.state == Job.State.PENDING:
            wake_up(model.NOUN, job_id)
        return True


@dataclass(frozen=True)
class Effect:
    """One effect of an approved job: '-' is removed, '+' is added, '=' is an option."""

    sign: str
    words: str


def effects(job: Job) -> list[Effect]:
    """List the effects of the job, as they were frozen when the job was requested."""
    many = f"{job.total_estimate:,}" if job.total_is_exact else f"more than {job.total_estimate:,}"
    # Before a job starts, its audit summary has its options only: all counts are zero.
    shown = {"trash_hours", f"{job.NOUN}_id"}
    frozen = [(name, value) for name, value in job.summary().items() if value and name not in shown]
    return [*_moves(job, many), *(Effect("=", _option(name, value)) for name, value in frozen)]


_LABELS = {
    "through_message_id": "messages up to id",
    "through_dead_letter_id": "dead letters up to id",
    "upper_bound": "dead letters up to id",
    "plan_id": "plan",
}


def _option(name: str, value: object) -> str:
    return f"{_LABELS.get(name, name.replace('_', ' '))}: {_words(value)}"


def _moves(job: Job, many: str) -> list[Effect]:
    if isinstance(job, Redrive):
        target = job.target_queue or "their source queues"
        found = [Effect("-", f"{many} dead letters"), Effect("+", f"the same messages in {target}")]
        return found + ([Effect("+", _rewriting(job.choices))] if job.choices.patch_kind else [])
    if isinstance(job, Undo):
        where = f"the trash of {job.undoes_noun} {job.undoes_id}"
        return [Effect("-", f"{many} messages in {where}"), Effect("+", "the same messages in their queues")]
    if isinstance(job, Purge | Deletion):
        what = f"messages in {job.queue_name}" if isinstance(job, Purge) else "dead letters"
        kept = [Effect("+", f"the same messages in the trash, for {job.trash_hours} hours")] if job.trash_hours else []
        return [Effect("-", f"{many} {what}"), *kept]
    if isinstance(job, Discard):
        return [_of_discard(job, many)]
    return [Effect("=", f"{many} messages")]


def _of_discard(job: Discard, many: str) -> Effect:
    if job.action == Discard.Action.REPEAT:
        return Effect("+", f"{many} messages of {job.stream_name} again for the group {job.group_name}")
    left = f", not read by the group {job.group_name}" if job.group_name else ""
    return Effect("-", f"at most {many} messages of {job.stream_name}{left}")


def _rewriting(options: Options) -> str:
    text = options.patch_text
    shown = text if len(text) <= PATCH_CHARACTERS else f"{text[:PATCH_CHARACTERS]}… (the plan has all of it)"
    return f"edited payloads, by a {'merge patch' if options.patch_kind == 'merge' else 'JSON patch'}: {shown}"


def _words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)
