"""Above a threshold a second person decides: not the first, not too late, and nothing runs before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import IntegrityError, transaction

from dlq import approvals, deletions, purge, redrives, tasks, undo
from dlq.models import Deletion, Job, Purge, Redrive, Undo
from dlq.runner import Ending
from dlq.selecting import newest_id
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from tests.dlq.graveyards import Graveyard


@pytest.fixture(autouse=True)
def two_are_too_many(settings: LazySettings) -> None:
    """Jobs of more than one message wait."""
    settings.APPROVAL_REDRIVE_MESSAGES = settings.APPROVAL_DELETE_MESSAGES = settings.APPROVAL_UNDO_MESSAGES = 1


def redrive(graveyard: Graveyard) -> Redrive:
    return redrives.create(graveyard.filter, newest_id(), actor="ann", reason="again", rate_per_second=50)


def deletion(graveyard: Graveyard) -> Deletion:
    return deletions.create(graveyard.filter, newest_id(), actor="ann", reason="away")


def purging(graveyard: Graveyard) -> Purge:
    name = f"{graveyard.queue}-dlq"
    return purge.create(name, ["dead"], purge.preview(name, ["dead"]).bounds, name, actor="ann", reason="away")


def undoing(graveyard: Graveyard) -> Undo:
    removed = purging(graveyard)
    assert approvals.approve(Purge, removed.pk, actor="ben")
    purge.run_in_foreground(removed.pk)
    return undo.create("purge", removed.pk, actor="ann", reason="back")


RUN: dict[str, Callable[[int], Any]] = {
    "redrive": redrives.run_slice,
    "deletion": deletions.run_slice,
    "purge": purge.run_slice,
    "undo": undo.run_slice,
}
EVERY_KIND = pytest.mark.parametrize("make", [redrive, deletion, purging, undoing])


@EVERY_KIND
def test_a_large_job_waits_and_nobody_runs_it(graveyard: Graveyard, make: Callable[[Graveyard], Job]) -> None:
    graveyard.bury(2)
    job = make(graveyard)

    assert (job.state, job.needs_approval, job.is_active) == ("awaiting", True, False)
    assert RUN[job.NOUN](job.pk) is Ending.TAKEN
    assert job.pk in [waiting.pk for waiting in approvals.waiting() if waiting.NOUN == job.NOUN]
    assert approvals.counts()[1] >= 1


@EVERY_KIND
def test_somebody_else_approves_and_it_runs(graveyard: Graveyard, make: Callable[[Graveyard], Job]) -> None:
    graveyard.bury(2)
    job = make(graveyard)

    with pytest.raises(InvalidArgument, match="asked for by ann: somebody else has to decide"):
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
def test_a_refusal_says_why_and_ends_it(graveyard: Graveyard, make: Callable[[Graveyard], Job]) -> None:
    graveyard.bury(2)
    job = make(graveyard)

    with pytest.raises(InvalidArgument, match="reason is empty"):
        approvals.refuse(type(job), job.pk, actor="ben", reason=" ")
    assert approvals.refuse(type(job), job.pk, actor="ben", reason="not today")

    job.refresh_from_db()
    assert (job.state, job.decision_reason, job.approved_by) == ("refused", "not today", None)
    assert RUN[job.NOUN](job.pk) is Ending.TAKEN
    assert not approvals.approve(type(job), job.pk, actor="eva")


def test_nobody_approves_what_is_too_late(graveyard: Graveyard) -> None:
    graveyard.bury(2)
    job = deletion(graveyard)
    Deletion.objects.filter(pk=job.pk).update(approval_expires_at="2001-01-01T00:00Z")

    assert not approvals.approve(Deletion, job.pk, actor="ben")
    tasks.sweep()

    job.refresh_from_db()
    assert job.state == "expired"
    assert AuditEvent.objects.filter(action="deletion.expire", details__deletion_id=job.pk).count() == 1
    assert len(graveyard.dead()) == 2


def test_its_author_takes_it_back(graveyard: Graveyard) -> None:
    graveyard.bury(2)
    job = deletion(graveyard)

    assert deletions.cancel(job.pk, actor="ann")

    job.refresh_from_db()
    assert job.state == "cancelled"
    assert not approvals.approve(Deletion, job.pk, actor="ben")


def test_a_small_job_asks_nobody(graveyard: Graveyard) -> None:
    graveyard.bury(1)

    assert redrive(graveyard).state == "pending"


def test_what_nobody_could_count_is_large(graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch) -> None:
    graveyard.bury(1)
    job = Redrive(created_by="ann", total_estimate=1, total_is_exact=False)

    from dlq.thresholds import hold_back

    hold_back(job)

    assert job.is_awaiting


def test_by_default_nobody_is_asked(graveyard: Graveyard, settings: LazySettings) -> None:
    settings.APPROVAL_DELETE_MESSAGES = 0
    graveyard.bury(5)

    assert deletion(graveyard).state == "pending"


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
def test_the_table_itself_refuses_a_way_around(graveyard: Graveyard, change: dict[str, str]) -> None:
    graveyard.bury(2)
    job = deletion(graveyard)

    with pytest.raises(IntegrityError), transaction.atomic():
        Deletion.objects.filter(pk=job.pk).update(**change)


def test_what_will_happen_is_told_line_by_line(graveyard: Graveyard) -> None:
    graveyard.bury(3)

    lines = [(effect.sign, effect.words) for effect in approvals.effects(redrive(graveyard))]
    assert lines[:2] == [("-", "3 dead letters"), ("+", "as many messages in the queues they died in")]
    assert ("=", f"filter: {graveyard.filter}") in lines
    assert ("=", "rate per second: 50") in lines
    lines = [(effect.sign, effect.words) for effect in approvals.effects(purging(graveyard))]
    assert lines[:2] == [
        ("-", f"3 messages in {graveyard.queue}-dlq"),
        ("+", "as many in the trash, for 24 hours"),
    ]
    assert ("=", "states: dead") in lines
