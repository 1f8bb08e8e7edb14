"""Deleting the dead letters that a filter selects."""

from __future__ import annotations

import pytest

from dlq.filters import FilterError
from dlq.jobs.models import Deletion
from dlq.jobs.runner import Ending
from dlq.redrives import plans
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from tests.dlq.dead_letter_scenes import DeadLetterScene


def start(scene: DeadLetterScene, more: str = "") -> Deletion:
    preview = plans.preview(check_filter(f"{scene.filter} {more}"))
    return deletions.create(
        check_filter(preview.filter_text), preview.upper_bound, as_of=preview.as_of, actor="ann", reason="test data"
    )


def test_it_deletes_what_the_filter_selects_and_nothing_else(scene: DeadLetterScene) -> None:
    scene.add_dead(4, error_class="KeyError")
    others = scene.add_dead(2)
    deletion = start(scene, "class:KeyError")
    later = scene.add_dead(1, error_class="KeyError")

    deletion = deletions.run_in_foreground(deletion.pk)

    assert (deletion.state, deletion.deleted, deletion.skipped) == ("done", 4, 0)
    assert scene.dead() == others + later
    assert scene.ready() == 0
    assert scene.engine.counted() == scene.engine.recounted()


def test_cancelling_leaves_the_rest(scene: DeadLetterScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "BATCH_DEAD_LETTERS", 2)
    buried = scene.add_dead(5)
    deletion = start(scene)

    assert deletions.run_slice(deletion.pk, seconds=0) is Ending.MORE
    assert deletions.cancel(deletion.pk, actor="bob")
    assert deletions.run_in_foreground(deletion.pk).state == "cancelled"

    assert scene.dead() == buried[2:]


def test_it_is_recorded_from_beginning_to_end(scene: DeadLetterScene) -> None:
    scene.add_dead(3)
    deletion = deletions.run_in_foreground(start(scene).pk)

    events = AuditEvent.objects.filter(details__deletion_id=deletion.pk).order_by("audit_event_id")

    assert [(event.actor, event.action, event.queue_name, event.details["deleted"]) for event in events] == [
        ("ann", "deletion.create", scene.queue, 0),
        ("signalbox", "deletion.finish", scene.queue, 3),
    ]


@pytest.mark.usefixtures("commits")
def test_an_empty_filter_deletes_nothing() -> None:
    with pytest.raises(InvalidArgument) as refused:
        deletions.create(check_filter("  "), 10**6, actor="ann", reason="")

    assert refused.value.field == "filter_text"


@pytest.mark.usefixtures("commits")
def test_a_mistake_starts_nothing() -> None:
    before = Deletion.objects.count()

    with pytest.raises(FilterError):
        deletions.create(check_filter("class:"), 10**6, actor="ann", reason="")
    assert Deletion.objects.count() == before
