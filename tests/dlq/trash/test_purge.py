"""Emptying a queue: what was there at the moment of looking, in the states that were named, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dlq.jobs.models import Purge
from dlq.jobs.runner import Ending
from dlq.trash import purges
from queues.errors import InvalidArgument, QueueNotFound
from queues.models import AuditEvent
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")


def start(queue: str, *states: str, bounds: purges.Bounds | None = None) -> Purge:
    bounds = bounds or purges.preview(queue, states).bounds
    return purges.create(queue, states, bounds, queue, actor="ann", reason="test data")


def fill(engine: Engine) -> None:
    """Three ready, two scheduled, one leased."""
    engine.send("leased")
    engine.receive_one()
    for n in range(3):
        engine.send(n)
    for n in range(2):
        engine.send(n, delay_seconds=600)


def test_a_preview_counts_and_changes_nothing(engine: Engine) -> None:
    fill(engine)

    preview = purges.preview(engine.queue, ["scheduled", "ready"])

    assert (preview.counts, preview.total) == ({"ready": 3, "scheduled": 2}, 5)
    assert engine.counted() == (3, 2, 1, 0, 0)


def test_it_removes_the_named_states_only(engine: Engine) -> None:
    fill(engine)

    done = purges.run_in_foreground(start(engine.queue, "ready", "scheduled").pk)

    assert (done.state, done.purged, done.total_estimate, done.progress) == ("done", 5, 5, 1.0)
    assert engine.counted() == engine.recounted() == (0, 0, 1, 0, 0)


def test_what_is_sent_after_the_preview_stays(engine: Engine) -> None:
    fill(engine)
    bounds = purges.preview(engine.queue, ["ready"]).bounds
    later = engine.send("later")

    purges.run_in_foreground(start(engine.queue, "ready", bounds=bounds).pk)

    assert [row[0] for row in engine.receive(10)] == [later]


def test_a_purge_of_the_future_is_refused(scene: DeadLetterScene) -> None:
    scene.engine.send("now")
    scene.add_dead(1)
    job = start(scene.queue, "ready", bounds=purges.Bounds(2**62, 2**62))
    later = scene.engine.send("later")
    [later_letter] = scene.add_dead(1)

    assert job.through_message_id < later
    assert job.through_dead_letter_id < later_letter


def test_dead_letters_go_with_the_queue_that_holds_them(scene: DeadLetterScene) -> None:
    scene.add_dead(4)
    holder = f"{scene.queue}-dlq"
    bounds = purges.preview(holder, ["dead"]).bounds
    later = scene.add_dead(2)

    done = purges.run_in_foreground(start(holder, "dead", bounds=bounds).pk)

    assert (done.purged, scene.dead()) == (4, later)
    assert scene.engine.counted() == scene.engine.recounted()


def test_cancelling_leaves_the_rest(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purges, "BATCH_MESSAGES", 2)
    fill(engine)
    job = start(engine.queue, "ready", "scheduled")

    assert purges.run_slice(job.pk, seconds=0) is Ending.MORE
    assert purges.cancel(job.pk, actor="bob", reason="stop")
    assert purges.run_slice(job.pk) is Ending.TAKEN
    assert not purges.cancel(job.pk, actor="bob")

    job.refresh_from_db()
    assert (job.state, job.purged, job.progress) == ("cancelled", 2, 0.4)
    assert engine.counted() == (1, 2, 1, 0, 0)


def test_it_is_recorded_from_beginning_to_end(engine: Engine) -> None:
    fill(engine)
    done = purges.run_in_foreground(start(engine.queue, "ready").pk)

    events = AuditEvent.objects.filter(queue_name=engine.queue, details__purge_id=done.pk).order_by("audit_event_id")

    assert [(event.actor, event.action, event.reason, event.details["purged"]) for event in events] == [
        ("ann", "purge.create", "test data", 0),
        ("signalbox", "purge.finish", "", 3),
    ]


@pytest.mark.parametrize("typed", ["", "other", "TEST"])
def test_a_wrong_name_starts_nothing(engine: Engine, typed: str) -> None:
    bounds = purges.preview(engine.queue, ["ready"]).bounds

    with pytest.raises(InvalidArgument) as refused:
        purges.create(engine.queue, ["ready"], bounds, typed, actor="ann", reason="")

    assert refused.value.field == "typed_name"
    assert not Purge.objects.filter(queue_name=engine.queue).exists()


@pytest.mark.parametrize("states", [[], ["dead"], ["completed"], ["ready", "nonsense"]])
def test_states_that_cannot_be_purged_are_refused(engine: Engine, states: list[str]) -> None:
    with pytest.raises(InvalidArgument) as refused:
        purges.preview(engine.queue, states)

    assert refused.value.field == "states"


def test_an_unknown_queue_is_refused() -> None:
    with pytest.raises(QueueNotFound):
        purges.preview("nowhere", ["ready"])


def test_a_large_queue_is_purged_in_many_small_transactions(
    make_engine: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purges, "BATCH_MESSAGES", 100)
    engine = make_engine()
    engine.rows(
        "select signalbox.send_batch(%s, array(select to_jsonb(n) from generate_series(1, 950) n))", engine.queue
    )

    done = purges.run_in_foreground(start(engine.queue, "ready").pk)

    assert done.purged == 950
    batches = "select count(distinct xmin::text) from signalbox.trash where trash_batch_id = %s"
    assert engine.value(batches, done.trash_batch_id) == 10
