"""Deleting dead letters for good: reviewed, confirmed by a word, recorded."""

from __future__ import annotations

from dlq.jobs.models import Deletion
from dlq.trash import deletions
from queues.models import AuditEvent
from tests.console.browsers import Browser
from tests.dlq.dead_letter_scenes import DeadLetterScene


def test_what_the_review_showed_is_deleted_and_nothing_else(admin: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    form = admin.see("/deletions/new", q=scene.filter).fields()
    later = scene.add_dead(1)

    page = admin.submit("/deletions/new", **{**form, "reason": "test data", "confirmation": "delete"})
    job = deletions.run_in_foreground(Deletion.objects.latest("deletion_id").pk)

    assert f"Deletion #{job.pk} started." in page.text
    assert scene.dead() == later
    assert AuditEvent.objects.get(action="deletion.create", details__deletion_id=job.pk).actor == admin.name
    assert "deleted 2 of 2" in admin.see(f"/deletions/{job.pk}").text


def test_the_word_has_to_be_typed(admin: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    form = admin.see("/deletions/new", q=scene.filter).fields()

    page = admin.submit("/deletions/new", status=422, **{**form, "reason": "r", "confirmation": "yes"})

    assert "Type the word delete." in page.text
    assert len(scene.dead()) == 1


def test_everything_is_deleted_only_by_name(admin: Browser) -> None:
    assert "Select the dead letters to delete" in admin.see("/deletions/new").text


def test_a_deletion_can_be_cancelled(admin: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    form = admin.see("/deletions/new", q=scene.filter).fields()
    admin.submit("/deletions/new", **{**form, "reason": "r", "confirmation": "delete"})
    job = Deletion.objects.latest("deletion_id")

    assert "is cancelled" in admin.submit(f"/deletions/{job.pk}/cancel").text
    assert "has already ended" in admin.submit(f"/deletions/{job.pk}/cancel").text


def test_a_viewer_may_not_delete(viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)

    page = viewer.see("/deletions/new", status=403, q=scene.filter)

    assert "Purging, deleting and restoring messages requires the operator role." in page.text
