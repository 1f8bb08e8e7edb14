"""Purged and deleted messages are restored completely and once, with their history, and counters stay right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings

from dlq.jobs.models import Deletion, Purge, Undo
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions, purges, restore, trash
from queues.counters.queue_numbers import read_numbers
from queues.dead_letters.ids import newest_id
from queues.errors import InvalidArgument
from queues.models import AuditEvent, TrashBatch
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")

ALL = ("ready", "scheduled", "waiting", "leased")


def purged(queue: str, *states: str) -> Purge:
    bounds = purges.preview(queue, states).bounds
    job = purges.create(queue, states, bounds, queue, actor="ann", reason="oops")
    return purges.run_in_foreground(job.pk)


def deleted(scene: DeadLetterScene) -> Deletion:
    job = deletions.create(check_filter(scene.filter), newest_id(), actor="ann", reason="oops")
    return deletions.run_in_foreground(job.pk)


def undone(job: Purge | Deletion) -> Undo:
    return restore.run_in_foreground(restore.create(job.NOUN, job.pk, actor="ben", reason="not those").pk)


def expire(job: Purge | Deletion, engine: Engine) -> None:
    engine.connection.execute(
        "update signalbox.trash_batch set expires_at = now() - interval '1 hour' where trash_batch_id = %s",
        [job.trash_batch_id],
    )
    assert engine.value("select signalbox.empty_trash(1)") <= 1
    while engine.value(
        "select trashed > restored + emptied from signalbox.trash_batch where trash_batch_id = %s", job.trash_batch_id
    ):
        engine.value("select signalbox.empty_trash(2)")


def fill(engine: Engine) -> dict[str, int]:
    """Three ready, one of them tried before; one scheduled for later; one leased. Ids by what they are."""
    ids = {"leased": engine.send("leased"), "tried": engine.send("tried")}
    handles = {row[0]: row[1] for row in engine.receive(2)}
    engine.nack(handles[ids["tried"]], delay_seconds=0)
    ids |= {"ready": engine.send("ready"), "high": engine.send("high", priority=7)}
    ids["scheduled"] = engine.send("scheduled", delay_seconds=600)
    return ids


def test_a_purge_of_every_state_comes_back(engine: Engine) -> None:
    ids = fill(engine)
    due = engine.value("select due_at from signalbox.scheduled where message_id = %s", ids["scheduled"])

    job = purged(engine.queue, "ready", "scheduled", "leased")
    assert (job.purged, engine.counted(), engine.recounted()) == (5, (0, 0, 0, 0, 0), (0, 0, 0, 0, 0))
    back = undone(job)

    assert (back.state, back.restored, back.skipped, back.progress) == ("done", 5, 0, 1.0)
    assert engine.counted() == engine.recounted() == (4, 1, 0, 0, 0)
    assert engine.value("select due_at from signalbox.scheduled where message_id = %s", ids["scheduled"]) == due
    received = [(row[0], row[2], row[3]) for row in engine.receive(10)]
    assert received == [
        (ids["high"], 1, "high"),
        (ids["leased"], 2, "leased"),
        (ids["tried"], 2, "tried"),
        (ids["ready"], 1, "ready"),
    ]


def test_a_message_that_came_due_in_the_trash_is_ready(engine: Engine) -> None:
    message_id = engine.send("soon", delay_seconds=600)
    job = purged(engine.queue, "scheduled")
    engine.connection.execute(
        "update signalbox.trash set due_at = now() - interval '1 minute' where message_id = %s", [message_id]
    )

    undone(job)

    assert [row[0] for row in engine.receive(10)] == [message_id]
    [numbers] = read_numbers([engine.queue_id])
    assert (numbers.totals["purged"], numbers.totals["restored"]) == (1, 1)


def test_a_dead_letter_is_dead_again_with_its_whole_story(scene: DeadLetterScene) -> None:
    engine = scene.engine
    scene.add_dead(3, payload={"n": 1.10, "text": "ü"}, redrive_count=2)
    everything = "select d::text from signalbox.dead_letter d where source_queue_id = %s order by dead_letter_id"
    before = engine.rows(everything, engine.queue_id)

    job = deleted(scene)
    assert (job.deleted, engine.counted()[3], scene.dead()) == (3, 0, [])
    back = undone(job)

    assert (back.restored, back.skipped) == (3, 0)
    assert engine.rows(everything, engine.queue_id) == before
    assert engine.counted() == engine.recounted()
    assert engine.counted()[3] == 3
    holder = f"{engine.queue}-dlq"
    drift = (
        "select signalbox.depth(t.totals, 'held') - r.held from signalbox.queue q,"
        " signalbox.queue_totals(array[q.queue_id]) t, signalbox.recount(q.queue_id) r where q.name = %s"
    )
    assert engine.value(drift, holder) == 0


def test_a_purged_dead_letter_queue_comes_back(scene: DeadLetterScene) -> None:
    buried = scene.add_dead(4)

    job = purged(f"{scene.queue}-dlq", "dead")
    assert scene.dead() == []
    undone(job)

    assert scene.dead() == buried


def test_a_message_in_the_trash_counts_as_purged_until_it_is_back(engine: Engine) -> None:
    message_id = engine.send("here")
    outcome = "select status, outcome from signalbox.message_outcome(%s)"

    job = purged(engine.queue, "ready")
    assert engine.rows(outcome, message_id) == [("purged", "purged")]
    undone(job)
    assert engine.rows(outcome, message_id) == [("pending", None)]
    again = purged(engine.queue, "ready")
    expire(again, engine)
    assert engine.rows(outcome, message_id) == [("purged", "purged")]
    assert engine.rows("select 1 from signalbox.trash where message_id = %s", message_id) == []


def test_state_left_for_the_next_delivery_is_kept(engine: Engine) -> None:
    engine.send("work")
    engine.value("select signalbox.nack(%s, state => '{\"page\": 3}', delay_seconds => 0)", engine.receive_one()[1])

    undone(purged(engine.queue, "ready"))

    assert engine.value("select state from signalbox.receive(%s)", engine.queue) == {"page": 3}


def test_state_goes_with_its_message_when_the_trash_is_emptied(engine: Engine) -> None:
    message_id = engine.send("work")
    engine.value("select signalbox.nack(%s, state => '{\"page\": 3}', delay_seconds => 0)", engine.receive_one()[1])
    job = purged(engine.queue, "ready")
    kept = "select count(*) from signalbox.message_state where message_id = %s"

    assert engine.value(kept, message_id) == 1
    expire(job, engine)
    assert engine.value(kept, message_id) == 0


@pytest.mark.parametrize("settings_of_queue", [{"mode": "fifo"}, {"group_max_in_flight": 2}])
def test_messages_of_a_lane_wait_in_it_again_in_their_order(
    make_engine: Callable[..., Engine], settings_of_queue: dict[str, Any]
) -> None:
    engine = make_engine(**settings_of_queue)
    sent = [engine.send(n, group_id="a") for n in range(5)]
    held = engine.receive(10)
    assert [row[0] for row in held] == sent[: len(held)]

    job = purged(engine.queue, *ALL)
    assert (engine.waiting(), job.purged) == (0, 5)
    later = engine.send("later", group_id="a")
    undone(job)

    # It takes the last place of its message group: messages sent later are before it, as after a redrive.
    got = []
    while rows := engine.receive(10):
        got += [row[0] for row in rows]
        engine.waiting()  # counters of the lane equal a recount
        assert all(engine.ack(*[row[1] for row in rows]))
    expected, limit = [later, *sent], len(held)
    assert (sorted(got[:limit]), got[limit:]) == (sorted(expected[:limit]), expected[limit:])
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("under_way", [False, True])
def test_a_dead_letter_holds_its_group_again(make_engine: Callable[..., Engine], under_way: bool) -> None:
    engine = make_engine(mode="fifo", fifo_block_on_dead_letter=True)
    first, second, third = [engine.send(n, group_id="a") for n in range(3)]
    assert engine.nack(engine.receive_one()[1], reason="rejected") == "dead"

    job = deleted(DeadLetterScene(engine))
    ((received, handle, *_),) = engine.receive(10)
    if not under_way:
        engine.ack(handle)
    undone(job)

    assert received == second
    if under_way:  # it goes on, and so does the group
        engine.ack(handle)
        assert [row[0] for row in engine.receive(10)] == [third]
    else:
        assert engine.receive(10) == []
        letter = "array(select dead_letter_id from signalbox.dead_letter where message_id = %s)"
        engine.rows(f"select signalbox.redrive({letter})", first)
        for expected in (first, third):
            ((received, handle, *_),) = engine.receive(10)
            assert received == expected
            engine.ack(handle)
    engine.waiting()  # counters of the lane equal a recount
    assert engine.counted() == engine.recounted()


def test_an_id_that_another_message_holds_now_leaves_the_old_one_in_the_trash(
    make_engine: Callable[..., Engine],
) -> None:
    engine = make_engine(dedup_scope="in_flight")
    first = engine.send("first", deduplication_id="key")
    other = engine.send("other", deduplication_id="free")
    job = purged(engine.queue, "ready")
    second = engine.send("second", deduplication_id="key")

    seen = restore.preview("purge", job.pk)
    back = undone(job)

    assert second not in (first, other)
    assert any("1 stay in the trash: other messages have their deduplication ids" in words for words in seen.warnings)
    assert (back.restored, back.skipped, back.state) == (1, 1, "done")
    assert {row[0] for row in engine.receive(10)} == {second, other}
    assert engine.send("other", deduplication_id="free") == other  # it holds its id again
    assert trash.heap_of(Purge.objects.get(pk=job.pk)) is not None


def test_a_large_body_is_needed_while_its_dead_letter_is_in_the_trash(scene: DeadLetterScene) -> None:
    engine = scene.engine
    sha256 = engine.value("select sha256(%s::bytea)", scene.queue.encode())
    [letter] = scene.add_dead(1)
    engine.connection.execute(
        "update signalbox.dead_letter set body_sha256 = %s, body_bytes = 300000 where dead_letter_id = %s",
        [sha256, letter],
    )

    job = deleted(scene)

    assert engine.value("select signalbox._body_is_needed(%s)", sha256)
    expire(job, engine)
    assert not engine.value("select signalbox._body_is_needed(%s)", sha256)


def test_a_body_outlives_its_segment_while_its_message_is_in_the_trash(engine: Engine) -> None:
    message_id = engine.send("kept")
    job = purged(engine.queue, "ready")
    segment = (message_id - 1) // 1_000_000
    copies = "select count(*) from signalbox.message_kept where queue_id = %s and message_id = %s"

    engine.connection.execute("begin")
    engine.value("select signalbox.keep_live_bodies(%s)", segment)
    assert engine.value(copies, engine.queue_id, message_id) == 1
    engine.connection.execute(
        "delete from signalbox.message where message_id = %s", [message_id]
    )  # as its segment goes
    engine.connection.execute(
        "update signalbox.message_kept set kept_at = '-infinity' where message_id = %s", [message_id]
    )
    engine.value("select signalbox.drop_kept()")
    engine.connection.execute("commit")

    undone(job)
    assert engine.receive_one()[3] == "kept"


def test_without_trash_hours_deletion_is_permanent(engine: Engine, settings: LazySettings) -> None:
    settings.TRASH_HOURS = 0
    engine.send("gone")

    job = purged(engine.queue, "ready")

    assert (job.purged, job.trash_hours, job.trash_batch_id) == (1, 0, None)
    with pytest.raises(InvalidArgument, match="nothing of purge #"):
        restore.create("purge", job.pk, actor="ben", reason="")


def test_time_that_is_up_empties_the_trash_in_bounded_steps(engine: Engine) -> None:
    for n in range(5):
        engine.send(n)
    job = purged(engine.queue, "ready")
    assert engine.value("select count(*) from signalbox.trash where trash_batch_id = %s", job.trash_batch_id) == 5

    expire(job, engine)

    removal = TrashBatch.objects.get(trash_batch_id=job.trash_batch_id)
    assert (removal.trashed, removal.restored, removal.emptied, removal.left) == (5, 0, 5, 0)
    assert engine.value("select count(*) from signalbox.trash where trash_batch_id = %s", job.trash_batch_id) == 0
    with pytest.raises(InvalidArgument, match="nothing of purge #"):
        restore.preview("purge", job.pk)


def test_what_is_within_its_time_stays(engine: Engine) -> None:
    engine.send("stays")
    job = purged(engine.queue, "ready")

    engine.value("select signalbox.empty_trash()")

    assert engine.value("select count(*) from signalbox.trash where trash_batch_id = %s", job.trash_batch_id) == 1


def test_a_purge_under_way_is_cancelled_before_it_is_undone(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purges, "BATCH_MESSAGES", 2)
    for n in range(5):
        engine.send(n)
    job = purges.create(
        engine.queue, ["ready"], purges.preview(engine.queue, ["ready"]).bounds, engine.queue, actor="ann", reason=""
    )
    purges.run_slice(job.pk, seconds=0)
    with pytest.raises(InvalidArgument, match="still running"):
        restore.create("purge", job.pk, actor="ben", reason="")

    assert purges.cancel(job.pk, actor="ann")
    back = undone(Purge.objects.get(pk=job.pk))

    assert (back.restored, engine.counted()[0]) == (2, 5)


def test_an_undo_is_bounded_by_small_transactions_and_is_audited(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "BATCH_MESSAGES", 2)
    for n in range(5):
        engine.send(n)
    job = purged(engine.queue, "ready")
    back = restore.create("purge", job.pk, actor="ben", reason="not those")

    restore.run_slice(back.pk, seconds=0)
    back.refresh_from_db()
    assert (back.restored, back.is_active) == (2, True)
    assert restore.cancel(back.pk, actor="ben")
    assert trash.heap_of(job).trash_batch.left == 3  # type: ignore[union-attr]
    assert undone(job).restored == 3

    events = AuditEvent.objects.filter(details__undo_id=back.pk).order_by("audit_event_id")
    assert [(event.actor, event.action, event.queue_name) for event in events] == [
        ("ben", "undo.create", engine.queue),
        ("ben", "undo.cancel", engine.queue),
    ]


def test_what_is_being_put_back_does_not_run_out(engine: Engine) -> None:
    engine.send("soon over")
    job = purged(engine.queue, "ready")
    engine.connection.execute(
        "update signalbox.trash_batch set expires_at = now() + interval '1 second' where trash_batch_id = %s",
        [job.trash_batch_id],
    )

    restore.create("purge", job.pk, actor="ben", reason="")

    assert engine.value(
        "select expires_at > now() + interval '1 hour' from signalbox.trash_batch where trash_batch_id = %s",
        job.trash_batch_id,
    )


def test_the_trash_is_listed_by_job_and_the_next_to_go_is_first(engine: Engine, scene: DeadLetterScene) -> None:
    engine.send("a")
    scene.add_dead(2)
    first, second = purged(engine.queue, "ready"), deleted(scene)
    engine.connection.execute(
        "update signalbox.trash_batch set expires_at = now() + interval '1 minute' where trash_batch_id = %s",
        [second.trash_batch_id],
    )

    mine = [
        heap
        for heap in trash.heaps()
        if heap.trash_batch.trash_batch_id in (first.trash_batch_id, second.trash_batch_id)
    ]

    assert [(heap.job.NOUN, heap.job.pk, heap.trash_batch.left) for heap in mine] == [
        ("deletion", second.pk, 2),
        ("purge", first.pk, 1),
    ]


def test_only_removals_can_be_undone(engine: Engine) -> None:
    with pytest.raises(InvalidArgument, match="there is no redrive 1 to undo"):
        restore.preview("redrive", 1)
    with pytest.raises(InvalidArgument, match="there is no purge 999999999"):
        restore.create("purge", 999_999_999, actor="ben", reason="")
