"""A redrive by an operator's steps: look, start, watch, change one's mind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from dlq.filters import FilterError
from dlq.jobs.models import Redrive
from dlq.jobs.runner import Ending
from dlq.redrives import plans, redrives
from dlq.search.checked_filter import check_filter
from queues.control.queues import configure_queue
from queues.database.query import database_now
from queues.dead_letters.ids import newest_id
from queues.errors import InvalidArgument, QueueClosed, QueueNotFound
from queues.models import AuditEvent
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive


def start(scene: DeadLetterScene, filter_text: str | None = None, **options: object) -> Redrive:
    chosen = scene.filter if filter_text is None else filter_text
    return create_redrive(chosen, newest_id(), actor="ann", reason="partner is back", **options)  # type: ignore[arg-type]


def audited(redrive: Redrive) -> list[tuple[str, str, str]]:
    events = AuditEvent.objects.filter(action__startswith="redrive.", details__redrive_id=redrive.pk)
    return [(event.actor, event.action, event.reason) for event in events.order_by("audit_event_id")]


def test_it_sends_what_the_filter_selects_and_nothing_else(scene: DeadLetterScene) -> None:
    wanted = scene.add_dead(7)
    others = scene.add_dead(3, error_class="KeyError")

    redrive = redrives.run_in_foreground(start(scene, f"{scene.filter} class:TimeoutError").pk)

    assert (redrive.state, redrive.moved, redrive.skipped, redrive.progress) == ("done", 7, 0, 1.0)
    assert scene.redriven(redrive.pk) == wanted
    assert scene.dead() == others
    assert scene.ready() == 7
    assert scene.engine.counted() == scene.engine.recounted()


def test_what_dies_after_the_preview_stays_dead(scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    preview = plans.preview(check_filter(scene.filter))
    later = scene.add_dead(2)

    redrive = create_redrive(preview.filter_text, preview.upper_bound, actor="ann", reason="")
    scene.add_dead(1)
    redrives.run_in_foreground(redrive.pk)

    assert scene.dead()[:2] == later
    assert len(scene.dead()) == 3


def test_ages_count_up_to_the_preview(scene: DeadLetterScene) -> None:
    old = scene.add_dead(1, age_seconds=3 * 3600)
    young = scene.add_dead(1, age_seconds=3600 + 60)

    redrive = start(scene, f"{scene.filter} age:>1h", as_of=database_now() - timedelta(minutes=30))
    redrives.run_in_foreground(redrive.pk)

    assert scene.redriven(redrive.pk) == old
    assert scene.dead() == young


def test_a_bound_in_the_future_is_refused(scene: DeadLetterScene) -> None:
    redrive = create_redrive(scene.filter, 2**62, as_of=database_now() + timedelta(days=1), actor="ann", reason="")

    assert redrive.as_of <= database_now()
    assert redrive.upper_bound == newest_id()


def test_it_may_send_to_another_queue(make_dead_letter_scene: Callable[..., DeadLetterScene]) -> None:
    source, target = make_dead_letter_scene(), make_dead_letter_scene()
    source.add_dead(3)

    redrive = redrives.run_in_foreground(start(source, target_queue=target.queue).pk)

    assert (redrive.moved, source.ready(), target.ready()) == (3, 0, 3)


def test_a_long_list_with_few_matches_is_walked_in_windows(
    scene: DeadLetterScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlq.search.selecting.WINDOW_IDS", 4)
    monkeypatch.setattr("dlq.search.selecting.SEARCH_SECONDS", 0)
    first = scene.add_dead(1, error_class="Rare")
    scene.add_dead(30)
    last = scene.add_dead(2, error_class="Rare")

    job = start(scene, f"{scene.filter} class:Rare")
    begin = first[0] - 1  # past the dead letters of other tests, which may be a hundred thousand
    Redrive.objects.filter(pk=job.pk).update(lower_bound=begin, cursor=begin)
    redrive = redrives.run_in_foreground(job.pk)

    assert scene.redriven(redrive.pk) == first + last
    assert (redrive.moved, redrive.cursor) == (3, redrive.upper_bound)


def test_a_redrive_of_nothing_is_soon_done(scene: DeadLetterScene) -> None:
    redrive = redrives.run_in_foreground(start(scene).pk)

    assert (redrive.state, redrive.moved, redrive.total_estimate, redrive.total_is_exact) == ("done", 0, 0, True)


def test_a_letter_in_other_hands_is_left_to_them(scene: DeadLetterScene, connect: Callable[..., object]) -> None:
    first, second = scene.add_dead(2)
    other = connect(autocommit=False)
    other.execute("select 1 from signalbox.dead_letter where dead_letter_id = %s for update", [first])  # type: ignore[attr-defined]

    redrive = redrives.run_in_foreground(start(scene).pk)

    assert (redrive.moved, redrive.skipped) == (1, 1)
    assert scene.redriven(redrive.pk) == [second]


def test_cancelling_leaves_the_rest_where_it_was(scene: DeadLetterScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrives, "BATCH_MESSAGES", 2)
    buried = scene.add_dead(5)
    redrive = start(scene)

    assert redrives.run_slice(redrive.pk, seconds=0) is Ending.MORE
    assert redrives.cancel(redrive.pk, actor="bob", reason="wrong queue")
    assert redrives.run_slice(redrive.pk) is Ending.TAKEN

    redrive.refresh_from_db()
    assert (redrive.state, redrive.moved, redrive.progress) == ("cancelled", 2, 0.4)
    assert scene.dead() == buried[2:]
    assert ("bob", "redrive.cancel", "wrong queue") in audited(redrive)


def test_pausing_and_resuming_goes_on_where_it_stopped(scene: DeadLetterScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrives, "BATCH_MESSAGES", 2)
    buried = scene.add_dead(5)
    redrive = start(scene)

    redrives.run_slice(redrive.pk, seconds=0)
    assert redrives.pause(redrive.pk, actor="bob")
    assert redrives.run_in_foreground(redrive.pk).state == "paused"
    assert scene.dead() == buried[2:]
    assert redrives.resume(redrive.pk, actor="eve")
    redrive = redrives.run_in_foreground(redrive.pk)

    assert (redrive.state, redrive.moved) == ("done", 5)
    assert audited(redrive) == [
        ("ann", "redrive.create", "partner is back"),
        ("bob", "redrive.pause", ""),
        ("eve", "redrive.resume", ""),
        ("signalbox", "redrive.finish", ""),
    ]


def test_a_late_worker_changes_nothing(scene: DeadLetterScene) -> None:
    redrive = start(scene)

    assert not redrives.resume(redrive.pk, actor="ann")
    redrives.run_in_foreground(redrive.pk)
    before = audited(redrive)

    assert not redrives.pause(redrive.pk, actor="ann")
    assert not redrives.cancel(redrive.pk, actor="ann")
    assert not redrives.set_rate(redrive.pk, 10, actor="ann")
    assert audited(redrive) == before


def test_the_pace_can_be_changed_and_the_change_is_recorded(scene: DeadLetterScene) -> None:
    redrive = start(scene, rate_per_second=5)

    assert redrives.set_rate(redrive.pk, None, actor="bob", reason="no need to crawl")

    redrive.refresh_from_db()
    event = AuditEvent.objects.get(action="redrive.set_rate", details__redrive_id=redrive.pk)
    assert redrive.rate_per_second is None
    assert (event.actor, event.details["rate_per_second"]) == ("bob", {"before": 5, "after": None})


def test_a_target_closed_during_the_redrive_ends_it_with_the_reason(
    make_dead_letter_scene: Callable[..., DeadLetterScene],
) -> None:
    source, target = make_dead_letter_scene(), make_dead_letter_scene()
    buried = source.add_dead(2)
    redrive = start(source, target_queue=target.queue)
    configure_queue(target.queue, {"closed": True}, actor="bob")

    redrive = redrives.run_in_foreground(redrive.pk)

    assert (redrive.state, redrive.moved) == ("failed", 0)
    assert "is closed" in redrive.error
    assert source.dead() == buried
    assert audited(redrive)[-1] == ("signalbox", "redrive.fail", redrive.error)


def test_the_audit_of_the_one_queue_shows_it(make_dead_letter_scene: Callable[..., DeadLetterScene]) -> None:
    source, other = make_dead_letter_scene(), make_dead_letter_scene()
    source.add_dead(1)
    other.add_dead(1)

    one = start(source)
    both = start(source, f"queue:{source.queue},{other.queue}")

    assert (one.about_queue, sorted(both.source_queues)) == (source.queue, sorted([source.queue, other.queue]))
    assert AuditEvent.objects.get(details__redrive_id=one.pk).queue_name == source.queue
    assert AuditEvent.objects.get(details__redrive_id=both.pk).queue_name == ""


@pytest.mark.parametrize("rate", [0, -1, 5_001])
def test_a_rate_out_of_range_is_refused(scene: DeadLetterScene, rate: int) -> None:
    with pytest.raises(InvalidArgument) as refused:
        start(scene, rate_per_second=rate)
    assert refused.value.field == "rate_per_second"


def test_a_target_that_cannot_take_messages_is_refused(make_dead_letter_scene: Callable[..., DeadLetterScene]) -> None:
    scene, closed = make_dead_letter_scene(), make_dead_letter_scene(closed=True)
    scene.add_dead(1)

    with pytest.raises(QueueClosed):
        start(scene, target_queue=closed.queue)
    with pytest.raises(QueueNotFound):
        start(scene, target_queue="nowhere")
    with pytest.raises(InvalidArgument) as refused:
        start(scene, target_queue=f"{scene.queue}-dlq")
    assert refused.value.field == "target_queue"


def test_a_filter_with_a_mistake_starts_nothing(scene: DeadLetterScene) -> None:
    before = Redrive.objects.count()

    with pytest.raises(FilterError):
        start(scene, "attempts:many")
    assert Redrive.objects.count() == before
