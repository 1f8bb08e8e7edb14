"""Deleting the dead letters that a filter selects."""

from __future__ import annotations

import pytest

from dlq import deletions, plans
from dlq.filters import FilterError
from dlq.models import Deletion
from dlq.runner import Ending
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from tests.dlq.graveyards import Graveyard


def start(graveyard: Graveyard, more: str = "") -> Deletion:
    preview = plans.preview(f"{graveyard.filter} {more}")
    return deletions.create(
        preview.filter_text, preview.upper_bound, as_of=preview.as_of, actor="ann", reason="test data"
    )


def test_it_deletes_what_the_filter_selects_and_nothing_else(graveyard: Graveyard) -> None:
    graveyard.bury(4, error_class="KeyError")
    others = graveyard.bury(2)
    deletion = start(graveyard, "class:KeyError")
    later = graveyard.bury(1, error_class="KeyError")

    deletion = deletions.run_in_foreground(deletion.pk)

    assert (deletion.state, deletion.deleted, deletion.skipped) == ("done", 4, 0)
    assert graveyard.dead() == others + later
    assert graveyard.ready() == 0
    assert graveyard.engine.counted() == graveyard.engine.recounted()


def test_cancelling_leaves_the_rest(graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "BATCH_DEAD_LETTERS", 2)
    buried = graveyard.bury(5)
    deletion = start(graveyard)

    assert deletions.run_slice(deletion.pk, seconds=0) is Ending.MORE
    assert deletions.cancel(deletion.pk, actor="bob")
    assert deletions.run_in_foreground(deletion.pk).state == "cancelled"

    assert graveyard.dead() == buried[2:]


def test_it_is_recorded_from_beginning_to_end(graveyard: Graveyard) -> None:
    graveyard.bury(3)
    deletion = deletions.run_in_foreground(start(graveyard).pk)

    events = AuditEvent.objects.filter(details__deletion_id=deletion.pk).order_by("audit_event_id")

    assert [(event.actor, event.action, event.queue_name, event.details["deleted"]) for event in events] == [
        ("ann", "deletion.create", graveyard.queue, 0),
        ("signalbox", "deletion.finish", graveyard.queue, 3),
    ]


@pytest.mark.usefixtures("commits")
def test_nobody_deletes_everything_by_an_empty_filter() -> None:
    with pytest.raises(InvalidArgument) as refused:
        deletions.create("  ", 10**6, actor="ann", reason="")

    assert refused.value.field == "filter_text"


@pytest.mark.usefixtures("commits")
def test_a_mistake_starts_nothing() -> None:
    before = Deletion.objects.count()

    with pytest.raises(FilterError):
        deletions.create("class:", 10**6, actor="ann", reason="")
    assert Deletion.objects.count() == before
