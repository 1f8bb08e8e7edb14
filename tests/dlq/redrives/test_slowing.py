"""A redrive that sees a destination in trouble slows down, says why, and recovers."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from dlq.jobs.models import Redrive
from dlq.redrives import adaptive_rate, redrives
from queues.database.query import database_now
from queues.dead_letters.ids import newest_id
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive


def start(scene: DeadLetterScene, **options: object) -> Redrive:
    return create_redrive(scene.filter, newest_id(), actor="ann", reason="", **options)


def considered(job: Redrive, now: datetime, seconds: float) -> tuple[float | None, str]:
    job.refresh_from_db()
    adaptive_rate.consider(job, job.choices, now + timedelta(seconds=seconds))
    job.save()
    return job.slowed_rate, job.note


def test_a_deep_destination_halves_the_rate_until_it_is_shallow(scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    for _ in range(4):
        scene.engine.send({})
    job, now = start(scene, rate_per_second=100, slow_depth=3), database_now()

    assert considered(job, now, 0) == (50, f"Slowed to 50/s: {scene.queue} has 4 messages, more than 3.")
    assert considered(job, now, 1)[0] == 50  # not yet time for another look
    assert considered(job, now, 2)[0] == 25
    scene.engine.value("select signalbox.purge(%s)", scene.queue)
    assert considered(job, now, 4) == (32, "Recovering: 32/s of 100/s.")
    rates = [considered(job, now, 6 + 2 * step)[0] for step in range(6)]
    assert rates[:4] == [40, 50, 63, 79]
    assert (rates[4], rates[5], job.note) == (99, None, "")


def test_an_old_message_in_the_destination_slows_it(scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    scene.engine.send({})
    scene.engine.connection.execute(
        "update signalbox.ready set ready_at = ready_at - interval '1 hour' where queue_id = %s",
        [scene.engine.queue_id],
    )
    job = start(scene, rate_per_second=10, slow_age_seconds=60)

    rate, note = considered(job, database_now(), 0)

    assert rate == 5
    assert f"the oldest message in {scene.queue} has waited for 3,6" in note


def test_failures_slow_it_by_their_share_since_the_last_look(scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    job, now = start(scene, rate_per_second=10, slow_failed_percent=50), database_now()

    Redrive.objects.filter(pk=job.pk).update(moved=40, succeeded=9, failed_same=6, failed_new=5)
    assert considered(job, now, 0) == (5, "Slowed to 5/s: 11 of the last 20 failed again, more than 50 %.")
    Redrive.objects.filter(pk=job.pk).update(succeeded=29)
    assert considered(job, now, 2)[0] == 7


def test_without_a_rate_it_slows_from_the_highest(scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    scene.engine.send({})
    scene.engine.send({})
    job = start(scene, slow_depth=1)

    assert considered(job, database_now(), 0)[0] == 2_500


def test_the_slowed_rate_is_the_pace(scene: DeadLetterScene) -> None:
    scene.add_dead(30)
    for _ in range(4):
        scene.engine.send({})
    job = start(scene, rate_per_second=100, slow_depth=3)

    redrives.run_slice(job.pk, seconds=0)

    job.refresh_from_db()
    assert job.slowed_rate == 50
    pace = redrives._token_bucket(job, database_now())
    assert pace
    assert pace.rate == 50
    redrives.set_rate(job.pk, 20, actor="ann")
    job.refresh_from_db()
    pace = redrives._token_bucket(job, database_now())
    assert pace
    assert pace.rate == 20  # slowed or not, never faster than was asked


@pytest.mark.parametrize(("before", "after"), [(1.0, 1.0), (3.0, 1.5), (5_000.0, 2_500.0)])
def test_it_never_stands_still(before: float, after: float) -> None:
    assert adaptive_rate.next_rate(before, 5_000.0, in_trouble=True) == after
