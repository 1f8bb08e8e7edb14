"""Outcomes of redriven messages: from the engine's acks and dead letters, recorded once, counted in the row."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dlq.failure_groups.notes import merge
from dlq.jobs.models import Redrive
from dlq.redrives import outcomes, redrives
from queues import bulk_verbs
from queues.dead_letters.ids import newest_id
from queues.models import Redriven
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive


def redrive_all(scene: DeadLetterScene, **options: object) -> Redrive:
    job = create_redrive(scene.filter, newest_id(), actor="ann", reason="", **options)
    return redrives.run_in_foreground(job.pk)


def looked(job: Redrive) -> Redrive:
    """The job after a look at all of its open outcomes."""
    Redrive.objects.filter(pk=job.pk).update(looked_at=None)
    outcomes.refresh(job.pk)
    job.refresh_from_db()
    return job


def counts(job: Redrive) -> tuple[int, int, int, int, int]:
    job = looked(job)
    return job.succeeded, job.failed_same, job.failed_new, job.gone, job.open_outcomes


def die_of(scene: DeadLetterScene, handle: str, error_class: str, error: str) -> None:
    scene.engine.nack(handle, reason="rejected", error_class=error_class, error=error)


@pytest.fixture
def dead(scene: DeadLetterScene) -> DeadLetterScene:
    """Five that died of the same, by their own deliveries."""
    for _ in range(5):
        scene.engine.die({}, error_class="TimeoutError", error="timed out")
    return scene


def test_each_message_has_the_outcome_that_it_had(dead: DeadLetterScene) -> None:
    job = redrive_all(dead)
    assert counts(job) == (0, 0, 0, 0, 5)

    same, other, acked, resting, _held = [row[1] for row in dead.engine.receive(5)]
    die_of(dead, same, "TimeoutError", "timed out")
    die_of(dead, other, "KeyError", "'id'")
    dead.engine.ack(acked)
    dead.engine.nack(resting, delay_seconds=60)

    assert counts(job) == (1, 1, 1, 0, 2)
    letters = Redriven.objects.filter(redrive_id=job.pk).values_list("outcome", flat=True)
    assert sorted(letters, key=str) == [None, None, "a", "n", "s"]
    assert counts(job) == (1, 1, 1, 0, 2)


def test_a_death_is_remembered_when_the_letter_is_gone_again(dead: DeadLetterScene) -> None:
    job = redrive_all(dead)
    handles = [row[1] for row in dead.engine.receive(5)]
    for handle in handles:
        die_of(dead, handle, "TimeoutError", "timed out")
    again, deleted = dead.dead()[:2], dead.dead()[2:3]
    bulk_verbs.redrive(again, None, 10**9, "bob")  # another job's, which has them in progress
    bulk_verbs.delete_dead_letters(deleted)

    assert counts(job) == (0, 5, 0, 0, 0)


def test_what_was_acked_after_a_retry_succeeded(dead: DeadLetterScene) -> None:
    job = redrive_all(dead)
    for row in dead.engine.receive(5):
        dead.engine.nack(row[1], delay_seconds=0)
    dead.engine.ack(*[row[1] for row in dead.engine.receive(5)])

    assert counts(job) == (5, 0, 0, 0, 0)


def test_what_was_purged_is_neither_success_nor_failure(dead: DeadLetterScene) -> None:
    job = redrive_all(dead)
    dead.engine.value("select signalbox.purge(%s)", dead.queue)

    assert counts(job) == (0, 0, 0, 5, 0)


def test_messages_of_a_lane_are_followed_through_it(make_dead_letter_scene: Callable[..., DeadLetterScene]) -> None:
    scene = make_dead_letter_scene(mode="fifo")
    for _ in range(2):
        message_id = scene.engine.send({}, group_id="g")
        (row,) = scene.engine.receive(1)
        assert row[0] == message_id
        scene.engine.nack(row[1], reason="rejected")
    job = redrive_all(scene)
    for _ in range(2):
        scene.engine.ack(scene.engine.receive_one()[1])

    assert counts(job) == (2, 0, 0, 0, 0)


def test_many_are_looked_at_in_windows_round_and_round(dead: DeadLetterScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "WINDOW", 2)
    monkeypatch.setattr(outcomes, "MAX_WINDOWS", 1)
    job = redrive_all(dead)
    handles = [row[1] for row in dead.engine.receive(5)]
    dead.engine.ack(handles[4])  # only the last of them: a window's head has no news

    for _ in range(3):
        job = looked(job)
    assert (job.succeeded, job.open_outcomes) == (1, 4)


def test_dying_of_what_was_merged_is_failing_of_the_same_cause(dead: DeadLetterScene) -> None:
    engine = dead.engine
    engine.die({}, error_class="ReadTimeout", error="slow")
    names = dict(
        engine.rows(
            "select error_class, fingerprint from signalbox.dead_letter where source_queue_id = %s", engine.queue_id
        )
    )
    job = redrive_all(dead)
    merge(names["ReadTimeout"], names["TimeoutError"], actor="ann")
    *_, of_another = handles = [row[1] for row in engine.receive(6)]
    for handle in handles[:5]:
        die_of(dead, handle, "ReadTimeout", "slow")
    die_of(dead, of_another, "KeyError", "'id'")

    assert counts(job) == (0, 5, 1, 0, 0)


def test_an_outcome_in_another_transaction_is_not_known_before_it_commits(
    dead: DeadLetterScene, connect: Callable[..., object]
) -> None:
    job = redrive_all(dead)
    handles = [row[1] for row in dead.engine.receive(5)]
    other = connect(autocommit=False)
    other.execute("select * from signalbox.ack(%s)", [handles])  # type: ignore[attr-defined]

    assert counts(job) == (0, 0, 0, 0, 5)
    other.commit()  # type: ignore[attr-defined]
    assert counts(job) == (5, 0, 0, 0, 0)


def test_a_locked_job_is_skipped_without_waiting(dead: DeadLetterScene, connect: Callable[..., object]) -> None:
    job = redrive_all(dead)
    dead.engine.ack(*[row[1] for row in dead.engine.receive(5)])
    other = connect(autocommit=False)
    other.execute("select 1 from signalbox.redrive where redrive_id = %s for update", [job.pk])  # type: ignore[attr-defined]

    Redrive.objects.get(pk=job.pk)
    outcomes.refresh(job.pk)
    other.rollback()  # type: ignore[attr-defined]

    assert counts(job) == (5, 0, 0, 0, 0)


def test_watching_ends_when_every_outcome_is_known(dead: DeadLetterScene) -> None:
    job = looked(redrive_all(dead))
    assert job.watching

    dead.engine.ack(*[row[1] for row in dead.engine.receive(5)])
    Redrive.objects.filter(pk=job.pk).update(looked_at=None)
    for _ in range(100):  # others may be watched too, and have waited longer
        assert outcomes.refresh_watched(60) >= 1
        job.refresh_from_db()
        if not job.watching:
            break

    assert (job.watching, job.succeeded) == (False, 5)
