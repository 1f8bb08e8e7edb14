"""What an operator sees before anything moves."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from dlq import plans
from dlq.counting import BoundedCount
from dlq.filters import FilterError
from queues.control import configure_queue, pause_queue
from queues.errors import QueueNotFound
from tests.dlq.graveyards import Graveyard


def test_it_counts_and_shows_the_newest_five(graveyard: Graveyard) -> None:
    buried = graveyard.bury(7, payload={"order": 1})

    preview = plans.preview(f"{graveyard.filter}  class:TimeoutError")

    assert preview.filter_text == f"{graveyard.filter} class:TimeoutError"
    assert preview.count == BoundedCount(7, exact=True)
    assert [sample.dead_letter_id for sample in preview.samples] == buried[:1:-1]
    assert preview.samples[0].payload_text == '{"n": 7, "order": 1}'
    assert preview.upper_bound >= buried[-1]


def test_it_changes_nothing(graveyard: Graveyard) -> None:
    buried = graveyard.bury(3)

    plans.preview(graveyard.filter)

    assert graveyard.dead() == buried
    assert graveyard.ready() == 0


def test_it_says_where_messages_would_go(make_graveyard: Callable[..., Graveyard]) -> None:
    few, many = make_graveyard(), make_graveyard()
    few.bury(1)
    many.bury(2)
    many.engine.receive(consumer="worker-1")

    preview = plans.preview(f"queue:{few.queue},{many.queue}")

    assert [(one.queue, one.messages, one.consumers) for one in preview.destinations] == [
        (many.queue, 2, 1),
        (few.queue, 1, 0),
    ]
    assert preview.warnings == [f"{few.queue} has no consumer: nobody received from it in the last minute."]


def test_it_warns_of_destinations_that_hold_messages_back(graveyard: Graveyard) -> None:
    graveyard.bury(1)
    graveyard.engine.receive(consumer="worker-1")
    pause_queue(graveyard.queue, actor="ann")
    configure_queue(graveyard.queue, {"closed": True}, actor="ann")

    warnings = plans.preview(graveyard.filter).warnings

    assert warnings == [
        f"{graveyard.queue} is closed: a redrive into it is refused. Reopen the queue first.",
        f"{graveyard.queue} is paused: messages will wait there until it is resumed.",
    ]
    with pytest.raises(psycopg.Error, match="is closed: it accepts no messages"):
        graveyard.engine.rows("select signalbox.redrive(array[%s])", graveyard.bury(1)[0])


def test_it_warns_of_messages_that_came_back_before(graveyard: Graveyard) -> None:
    graveyard.engine.receive(consumer="worker-1")
    graveyard.bury(2, redrive_count=3)
    graveyard.bury(1)

    preview = plans.preview(graveyard.filter)

    assert (preview.redriven_before, preview.most_redrives) == (2, 3)
    assert preview.warnings == ["2 of them were redriven before, up to 3 times, and died again."]


def test_another_target_takes_them_all(make_graveyard: Callable[..., Graveyard]) -> None:
    one, other, target = make_graveyard(), make_graveyard(), make_graveyard()
    one.bury(1)
    other.bury(2)

    preview = plans.preview(f"queue:{one.queue},{other.queue}", target.queue)

    assert [(place.queue, place.messages) for place in preview.destinations] == [(target.queue, 3)]


def test_payloads_stay_in_the_database_for_those_who_may_not_see_them(graveyard: Graveyard) -> None:
    graveyard.bury(1)

    [sample] = plans.preview(graveyard.filter, with_payloads=False).samples

    assert sample.payload_text is None


def test_mistakes_are_named(graveyard: Graveyard) -> None:
    with pytest.raises(FilterError):
        plans.preview("class:")
    with pytest.raises(QueueNotFound):
        plans.preview(graveyard.filter, "nowhere")
