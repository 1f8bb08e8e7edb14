"""A redrive by an operator's steps: look, start, watch, change one's mind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from dlq import plans, redrives
from dlq.filters import FilterError
from dlq.finding import database_now
from dlq.models import Redrive
from dlq.runner import Ending
from dlq.selecting import newest_id
from queues.control import configure_queue
from queues.errors import InvalidArgument, QueueClosed, QueueNotFound
from queues.models import AuditEvent
from tests.dlq.graveyards import Graveyard


def start(graveyard: Graveyard, filter_text: str | None = None, **options: object) -> Redrive:
    chosen = graveyard.filter if filter_text is None else filter_text
    return redrives.create(chosen, newest_id(), actor="ann", reason="partner is back", **options)  # type: ignore[arg-type]


def audited(redrive: Redrive) -> list[tuple[str, str, str]]:
    events = AuditEvent.objects.filter(action__startswith="redrive.", details__redrive_id=redrive.pk)
    return [(event.actor, event.action, event.reason) for event in events.order_by("audit_event_id")]


def test_it_sends_what_the_filter_selects_and_nothing_else(graveyard: Graveyard) -> None:
    wanted = graveyard.bury(7)
    others = graveyard.bury(3, error_class="KeyError")

    redrive = redrives.run_in_foreground(start(graveyard, f"{graveyard.filter} class:TimeoutError").pk)

    assert (redrive.state, redrive.moved, redrive.skipped, redrive.progress) == ("done", 7, 0, 1.0)
    assert graveyard.redriven(redrive.pk) == wanted
    assert graveyard.dead() == others
    assert graveyard.ready() == 7
    assert graveyard.engine.counted() == graveyard.engine.recounted()


def test_what_dies_after_the_preview_stays_dead(graveyard: Graveyard) -> None:
    graveyard.bury(2)
    preview = plans.preview(graveyard.filter)
    later = graveyard.bury(2)

    redrive = redrives.create(preview.filter_text, preview.upper_bound, actor="ann", reason="")
    graveyard.bury(1)
    redrives.run_in_foreground(redrive.pk)

    assert graveyard.dead()[:2] == later
    assert len(graveyard.dead()) == 3


def test_ages_count_up_to_the_preview(graveyard: Graveyard) -> None:
    old = graveyard.bury(1, age_seconds=3 * 3600)
    young = graveyard.bury(1, age_seconds=3600 + 60)

    redrive = start(graveyard, f"{graveyard.filter} age:>1h", as_of=database_now() - timedelta(minutes=30))
    redrives.run_in_foreground(redrive.pk)

    assert graveyard.redriven(redrive.pk) == old
    assert graveyard.dead() == young


def test_nobody_freezes_the_future(graveyard: Graveyard) -> None:
    redrive = redrives.create(graveyard.filter, 2**62, as_of=database_now() + timedelta(days=1), actor="ann", reason="")

    assert redrive.as_of <= database_now()
    assert redrive.upper_bound == newest_id()


def test_it_may_send_to_another_queue(make_graveyard: Callable[..., Graveyard]) -> None:
    source, target = make_graveyard(), make_graveyard()
    source.bury(3)

    redrive = redrives.run_in_foreground(start(source, target_queue=target.queue).pk)

    assert (redrive.moved, source.ready(), target.ready()) == (3, 0, 3)


def test_a_long_list_with_few_matches_is_walked_in_windows(
    graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlq.selecting.WINDOW_IDS", 4)
    monkeypatch.setattr("dlq.selecting.SEARCH_SECONDS", 0)
    first = graveyard.bury(1, error_class="Rare")
    graveyard.bury(30)
    last = graveyard.bury(2, error_class="Rare")

    job = start(graveyard, f"{graveyard.filter} class:Rare")
    begin = first[0] - 1  # past what other tests have buried, which may be a hundred thousand
    Redrive.objects.filter(pk=job.pk).update(lower_bound=begin, cursor=begin)
    redrive = redrives.run_in_foreground(job.pk)

    assert graveyard.redriven(redrive.pk) == first + last
    assert (redrive.moved, redrive.cursor) == (3, redrive.upper_bound)


def test_a_redrive_of_nothing_is_soon_done(graveyard: Graveyard) -> None:
    redrive = redrives.run_in_foreground(start(graveyard).pk)

    assert (redrive.state, redrive.moved, redrive.total_estimate, redrive.total_is_exact) == ("done", 0, 0, True)


def test_a_letter_in_other_hands_is_left_to_them(graveyard: Graveyard, connect: Callable[..., object]) -> None:
    first, second = graveyard.bury(2)
    other = connect(autocommit=False)
    other.execute("select 1 from signalbox.dead_letter where dead_letter_id = %s for update", [first])  # type: ignore[attr-defined]

    redrive = redrives.run_in_foreground(start(graveyard).pk)

    assert (redrive.moved, redrive.skipped) == (1, 1)
    assert graveyard.redriven(redrive.pk) == [second]


def test_cancelling_leaves_the_rest_where_it_was(graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrives, "BATCH_MESSAGES", 2)
    buried = graveyard.bury(5)
    redrive = start(graveyard)

    assert redrives.run_slice(redrive.pk, seconds=0) is Ending.MORE
    assert redrives.cancel(redrive.pk, actor="bob", reason="wrong queue")
    assert redrives.run_slice(redrive.pk) is Ending.TAKEN

    redrive.refresh_from_db()
    assert (redrive.state, redrive.moved, redrive.progress) == ("cancelled", 2, 0.4)
    assert graveyard.dead() == buried[2:]
    assert ("bob", "redrive.cancel", "wrong queue") in audited(redrive)


def test_pausing_and_resuming_goes_on_where_it_stopped(graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrives, "BATCH_MESSAGES", 2)
    buried = graveyard.bury(5)
    redrive = start(graveyard)

    redrives.run_slice(redrive.pk, seconds=0)
    assert redrives.pause(redrive.pk, actor="bob")
    assert redrives.run_in_foreground(redrive.pk).state == "paused"
    assert graveyard.dead() == buried[2:]
    assert redrives.resume(redrive.pk, actor="eve")
    redrive = redrives.run_in_foreground(redrive.pk)

    assert (redrive.state, redrive.moved) == ("done", 5)
    assert audited(redrive) == [
        ("ann", "redrive.create", "partner is back"),
        ("bob", "redrive.pause", ""),
        ("eve", "redrive.resume", ""),
        ("signalbox", "redrive.finish", ""),
    ]


def test_whoever_comes_too_late_changes_nothing(graveyard: Graveyard) -> None:
    redrive = start(graveyard)

    assert not redrives.resume(redrive.pk, actor="ann")
    redrives.run_in_foreground(redrive.pk)
    before = audited(redrive)

    assert not redrives.pause(redrive.pk, actor="ann")
    assert not redrives.cancel(redrive.pk, actor="ann")
    assert not redrives.set_rate(redrive.pk, 10, actor="ann")
    assert audited(redrive) == before


def test_the_pace_can_be_changed_and_the_change_is_recorded(graveyard: Graveyard) -> None:
    redrive = start(graveyard, rate_per_second=5)

    assert redrives.set_rate(redrive.pk, None, actor="bob", reason="no need to crawl")

    redrive.refresh_from_db()
    event = AuditEvent.objects.get(action="redrive.set_rate", details__redrive_id=redrive.pk)
    assert redrive.rate_per_second is None
    assert (event.actor, event.details["rate_per_second"]) == ("bob", {"before": 5, "after": None})


def test_a_target_that_closes_meanwhile_ends_it_with_the_reason(make_graveyard: Callable[..., Graveyard]) -> None:
    source, target = make_graveyard(), make_graveyard()
    buried = source.bury(2)
    redrive = start(source, target_queue=target.queue)
    configure_queue(target.queue, {"closed": True}, actor="bob")

    redrive = redrives.run_in_foreground(redrive.pk)

    assert (redrive.state, redrive.moved) == ("failed", 0)
    assert "is closed" in redrive.error
    assert source.dead() == buried
    assert audited(redrive)[-1] == ("signalbox", "redrive.fail", redrive.error)


def test_the_audit_of_the_one_queue_shows_it(make_graveyard: Callable[..., Graveyard]) -> None:
    source, other = make_graveyard(), make_graveyard()
    source.bury(1)
    other.bury(1)

    one = start(source)
    both = start(source, f"queue:{source.queue},{other.queue}")

    assert (one.about_queue, sorted(both.source_queues)) == (source.queue, sorted([source.queue, other.queue]))
    assert AuditEvent.objects.get(details__redrive_id=one.pk).queue_name == source.queue
    assert AuditEvent.objects.get(details__redrive_id=both.pk).queue_name == ""


@pytest.mark.parametrize("rate", [0, -1, 5_001])
def test_a_rate_out_of_range_is_refused(graveyard: Graveyard, rate: int) -> None:
    with pytest.raises(InvalidArgument) as refused:
        start(graveyard, rate_per_second=rate)
    assert refused.value.field == "rate_per_second"


def test_a_target_that_cannot_take_messages_is_refused(make_graveyard: Callable[..., Graveyard]) -> None:
    graveyard, closed = make_graveyard(), make_graveyard(closed=True)
    graveyard.bury(1)

    with pytest.raises(QueueClosed):
        start(graveyard, target_queue=closed.queue)
    with pytest.raises(QueueNotFound):
        start(graveyard, target_queue="nowhere")
    with pytest.raises(InvalidArgument) as refused:
        start(graveyard, target_queue=f"{graveyard.queue}-dlq")
    assert refused.value.field == "target_queue"


def test_a_filter_with_a_mistake_starts_nothing(graveyard: Graveyard) -> None:
    before = Redrive.objects.count()

    with pytest.raises(FilterError):
        start(graveyard, "attempts:many")
    assert Redrive.objects.count() == before
