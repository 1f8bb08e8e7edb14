"""Preview of a redrive, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from dlq.filters import FilterError
from dlq.redrives import plans
from dlq.search.checked_filter import check_filter
from dlq.search.counting import BoundedCount
from queues.control.queues import configure_queue, pause_queue
from queues.errors import QueueNotFound
from tests.dlq.dead_letter_scenes import DeadLetterScene


def test_it_counts_and_shows_the_newest_five(scene: DeadLetterScene) -> None:
    buried = scene.add_dead(7, payload={"order": 1})

    preview = plans.preview(check_filter(f"{scene.filter}  class:TimeoutError"))

    assert preview.filter_text == f"{scene.filter} class:TimeoutError"
    assert preview.count == BoundedCount(7, exact=True)
    assert [sample.dead_letter_id for sample in preview.samples] == buried[:1:-1]
    assert preview.samples[0].payload_text == '{"n": 7, "order": 1}'
    assert preview.upper_bound >= buried[-1]


def test_it_changes_nothing(scene: DeadLetterScene) -> None:
    buried = scene.add_dead(3)

    plans.preview(check_filter(scene.filter))

    assert scene.dead() == buried
    assert scene.ready() == 0


def test_it_says_where_messages_would_go(make_dead_letter_scene: Callable[..., DeadLetterScene]) -> None:
    few, many = make_dead_letter_scene(), make_dead_letter_scene()
    few.add_dead(1)
    many.add_dead(2)
    many.engine.receive(consumer="worker-1")

    preview = plans.preview(check_filter(f"queue:{few.queue},{many.queue}"))

    assert [(one.queue, one.messages, one.consumers) for one in preview.destinations] == [
        (many.queue, 2, 1),
        (few.queue, 1, 0),
    ]
    assert preview.warnings == [f"{few.queue} has no consumer: no process received from it in the last minute."]


def test_it_warns_of_destinations_that_hold_messages_back(scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    scene.engine.receive(consumer="worker-1")
    pause_queue(scene.queue, actor="ann")
    configure_queue(scene.queue, {"closed": True}, actor="ann")

    warnings = plans.preview(check_filter(scene.filter)).warnings

    assert warnings == [
        f"{scene.queue} is closed: a redrive into it is refused. Reopen the queue first.",
        f"{scene.queue} is paused: messages will wait there until it is resumed.",
    ]
    with pytest.raises(psycopg.Error, match="is closed: it accepts no messages"):
        scene.engine.rows("select signalbox.redrive(array[%s])", scene.add_dead(1)[0])


def test_it_warns_of_messages_that_came_back_before(scene: DeadLetterScene) -> None:
    scene.engine.receive(consumer="worker-1")
    scene.add_dead(2, redrive_count=3)
    scene.add_dead(1)

    preview = plans.preview(check_filter(scene.filter))

    assert (preview.redriven_before, preview.max_redrives) == (2, 3)
    assert preview.warnings == ["2 have already failed up to 3 redrives."]


def test_another_target_takes_them_all(make_dead_letter_scene: Callable[..., DeadLetterScene]) -> None:
    one, other, target = make_dead_letter_scene(), make_dead_letter_scene(), make_dead_letter_scene()
    one.add_dead(1)
    other.add_dead(2)

    preview = plans.preview(check_filter(f"queue:{one.queue},{other.queue}"), target.queue)

    assert [(place.queue, place.messages) for place in preview.destinations] == [(target.queue, 3)]


def test_payloads_stay_in_the_database_for_those_who_may_not_see_them(scene: DeadLetterScene) -> None:
    scene.add_dead(1)

    [sample] = plans.preview(check_filter(scene.filter), with_payloads=False).samples

    assert sample.payload_text is None


def test_mistakes_are_named(scene: DeadLetterScene) -> None:
    with pytest.raises(FilterError):
        plans.preview(check_filter("class:"))
    with pytest.raises(QueueNotFound):
        plans.preview(check_filter(scene.filter), "nowhere")
