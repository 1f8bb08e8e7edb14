"""Approval of large jobs: by another person, in time, and nothing runs before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import IntegrityError, transaction

from dlq import tasks
from dlq.jobs import approvals
from dlq.jobs.models import Deletion, Job, Purge, Redrive, Undo
from dlq.jobs.runner import Ending
from dlq.redrives import redrives
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions, purges, restore
from queues.dead_letters.ids import newest_id
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive


@pytest.fixture(autouse=True)
def two_are_too_many(settings: LazySettings) -> None:
    """Jobs of more than one message wait."""
    settings.APPROVAL_REDRIVE_MESSAGES = settings.APPROVAL_DELETE_MESSAGES = settings.APPROVAL_UNDO_MESSAGES = 1


def redrive(scene: DeadLetterScene) -> Redrive:
    return create_redrive(scene.filter, newest_id(), actor="ann", reason="again", rate_per_second=50)


def deletion(scene: DeadLetterScene) -> Deletion:
    return deletions.create(check_filter(scene.filter), newest_id(), actor="ann", reason="away")


def purging(scene: DeadLetterScene) -> Purge:
    name = f"{scene.queue}-dlq"
    return purges.create(name, ["dead"], purges.preview(name, ["dead"]).bounds, name, actor="ann", reason="away")


def undoing(scene: DeadLetterScene) -> Undo:
    removed = purging(scene)
    assert approvals.approve(Purge, removed.pk, actor="ben")
    purges.run_in_foreground(removed.pk)
    return restore.create("purge", removed.pk, actor="ann", reason="back")


RUN: dict[str, Callable[[int], Any]] = {
    "redrive": redrives.run_slice,
    "deletion": deletions.run_slice,
    "purge": purges.run_slice,
    "undo": restore.run_slice,
}
EVERY_KIND = pytest.mark.parametrize("make", [redrive, deletion, purging, undoing])


@EVERY_KIND
def test_a_large_job_waits_for_approval(scene: DeadLetterScene, make: Callable[[DeadLetterScene], Job]) -> None:
    scene.add_dead(2)
    job = make(scene)

    assert (job.state, job.needs_approval, job.is_active) == ("awaiting", True, False)
    assert RUN[job.NOUN](job.pk) is Ending.TAKEN
    assert job.pk in [waiting.pk for waiting in approvals.waiting() if waiting.NOUN == job.NOUN]
    assert approvals.counts()[1] >= 1


@EVERY_KIND
def test_a_job_runs_after_another_person_approves(
    scene: DeadLetterScene, make: Callable[[DeadLetterScene], Job]
) -> None:
    scene.add_dead(2)
    job = make(scene)

    with pytest.raises(InvalidArgument, match="requested by ann: another person must decide"):
        approvals.approve(type(job), job.pk, actor="ann")
    assert approvals.approve(type(job), job.pk, actor="ben", reason="looked at it")
    assert not approvals.approve(type(job), job.pk, actor="eva")

    assert RUN[job.NOUN](job.pk) in (Ending.OVER, Ending.MORE)
    job.refresh_from_db()
    assert (job.approved_by, job.decision_reason) == ("ben", "looked at it")
    actions = AuditEvent.objects.filter(**{f"details__{job.NOUN}_id": job.pk}).order_by("audit_event_id")
    assert [(event.actor, event.action) for event in actions if event.action.startswith(job.NOUN)][:2] == [
        ("ann", f"{job.NOUN}.ask"),
        ("ben", f"{job.NOUN}.approve"),
    ]


@EVERY_KIND
def test_a_refusal_says_why_and_ends_it(scene: DeadLetterScene, make: Callable[[DeadLetterScene], Job]) -> None:
    scene.add_dead(2)
    job = make(scene)

    with pytest.raises(InvalidArgument, match="reason is empty"):
        approvals.refuse(type(job), job.pk, actor="ben", reason=" ")
    assert approvals.refuse(type(job), job.pk, actor="ben", reason="not today")

    job.refresh_from_db()
    assert (job.state, job.decision_reason, job.approved_by) == ("refused", "not today", None)
    assert RUN[job.NOUN](job.pk) is Ending.TAKEN
    assert not approvals.approve(type(job), job.pk, actor="eva")


def test_an_expired_job_cannot_be_approved(scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    job = deletion(scene)
    Deletion.objects.filter(pk=job.pk).update(approval_expires_at="2001-01-01T00:00Z")

    assert not approvals.approve(Deletion, job.pk, actor="ben")
    tasks.sweep()

    job.refresh_from_db()
    assert job.state == "expired"
    assert AuditEvent.objects.filter(action="deletion.expire", details__deletion_id=job.pk).count() == 1
    assert len(scene.dead()) == 2


def test_its_author_takes_it_back(scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    job = deletion(scene)

    assert deletions.cancel(job.pk, actor="ann")

    job.refresh_from_db()
    assert job.state == "cancelled"
    assert not approvals.approve(Deletion, job.pk, actor="ben")


def test_a_small_job_needs_no_approval(scene: DeadLetterScene) -> None:
    scene.add_dead(1)

    assert redrive(scene).state == "pending"


def test_an_uncounted_job_counts_as_large(scene: DeadLetterScene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.add_dead(1)
    job = Redrive(created_by="ann", total_estimate=1, total_is_exact=False)

    from dlq.jobs.lifecycle import hold_back

    hold_back(job)

    assert job.is_awaiting


def test_approval_is_off_by_default(scene: DeadLetterScene, settings: LazySettings) -> None:
    settings.APPROVAL_DELETE_MESSAGES = 0
    scene.add_dead(5)

    assert deletion(scene).state == "pending"


@pytest.mark.parametrize(
    "change",
    [
        {"state": "pending", "approved_by": "ann"},
        {"approved_by": "ann"},
        {"state": "pending"},
        {"state": "running"},
        {"state": "done"},
    ],
)
def test_the_table_itself_refuses_a_way_around(scene: DeadLetterScene, change: dict[str, str]) -> None:
    scene.add_dead(2)
    job = deletion(scene)

    with pytest.raises(IntegrityError), transaction.atomic():
        Deletion.objects.filter(pk=job.pk).update(**change)


def test_effects_are_listed_line_by_line(scene: DeadLetterScene) -> None:
    scene.add_dead(3)

    lines = [(effect.sign, effect.words) for effect in approvals.effects(redrive(scene))]
    assert lines[:2] == [("-", "3 dead letters"), ("+", "the same messages in their source queues")]
    assert ("=", f"filter: {scene.filter}") in lines
    assert ("=", "rate per second: 50") in lines
    lines = [(effect.sign, effect.words) for effect in approvals.effects(purging(scene))]
    assert lines[:2] == [
        ("-", f"3 messages in {scene.queue}-dlq"),
        ("+", "the same messages in the trash, for 24 hours"),
    ]
    assert ("=", "states: dead") in lines
