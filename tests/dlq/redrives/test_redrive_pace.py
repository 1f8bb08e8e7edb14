"""The token bucket keeps its pace from one message a second to five thousand, on a clock that only the test moves."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from dlq.jobs.models import Redrive
from dlq.redrives import redrives
from dlq.redrives.token_bucket import LATE_SECONDS, TokenBucket
from queues.database.query import database_now
from queues.dead_letters.ids import newest_id
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive

START = datetime(2026, 1, 1, tzinfo=UTC)
RATES = [1, 2, 7, 10, 15, 20, 99, 500, 3_333, 5_000]


class Runner:
    """Clock of a job that takes time for each batch, wakes a little late, and may change its process."""

    def __init__(self, rate: int, *, slice_seconds: float = 1e9, gap_seconds: float = 0.0) -> None:
        self.draw = random.Random(rate)
        self.slice_seconds, self.gap_seconds = slice_seconds, gap_seconds
        self.pace = TokenBucket(rate, 0.0, 0.0, START)

    def departures(self, seconds: float) -> list[tuple[float, int]]:
        """Numbers of messages sent, with their times."""
        now, slice_ends, gone = 0.0, self.slice_seconds, []
        while now < seconds:
            pace = self.pace.refilled(START + timedelta(seconds=now))
            messages = min(pace.allowed, redrives.BATCH_MESSAGES)
            self.pace = pace.without(messages)
            gone.append((now, messages))
            now += max(self.draw.uniform(0.001, 0.03), self.pace.seconds_to_next)
            now += self.draw.uniform(0, LATE_SECONDS / 4)
            if now > slice_ends:
                now += self.gap_seconds
                slice_ends = now + self.slice_seconds
        return gone


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("gap_seconds", [0.0, 1.5])
def test_the_rate_holds_within_five_percent(rate: int, gap_seconds: float) -> None:
    """Times of a run in slices of twenty seconds, with pauses between."""
    seconds = max(90.0, 100 / rate)

    moved = sum(messages for _, messages in Runner(rate, slice_seconds=20, gap_seconds=gap_seconds).departures(seconds))

    assert moved == pytest.approx(rate * seconds, rel=0.05)
    assert moved <= rate * seconds + 1


@pytest.mark.parametrize("rate", RATES)
def test_no_more_than_a_tenth_of_a_second_goes_at_once(rate: int) -> None:
    departures = Runner(rate, slice_seconds=5, gap_seconds=1.5).departures(20)

    assert max(messages for _, messages in departures) <= max(1, rate / 10)


@pytest.mark.parametrize("rate", [20, 99, 500, 5_000])
def test_catching_up_is_no_rush(rate: int) -> None:
    """No second exceeds the rate, a tenth of it to catch up, and the initial burst."""
    departures = Runner(rate, slice_seconds=5, gap_seconds=1.5).departures(30)

    for start, _ in departures:
        within = sum(messages for at, messages in departures if start <= at < start + 1)
        assert within <= rate * (1.1 + 0.1 + LATE_SECONDS) + 1


@pytest.mark.parametrize("rate", RATES)
def test_what_was_missed_for_long_is_not_caught_up_with(rate: int) -> None:
    rested = TokenBucket(rate, 0.0, 0.0, START).refilled(START + timedelta(hours=1))

    assert rested.allowed <= max(1, rate / 10)
    assert rested.tokens <= max(1, rate / 10) + 2 * rate


def test_a_clock_set_back_neither_gives_nor_takes() -> None:
    earlier = START - timedelta(hours=1)
    pace = TokenBucket(10, 0.5, 0.5, START).refilled(earlier)

    assert (pace.tokens, pace.burst_tokens) == (0.5, 0.5)
    assert pace.refilled(earlier + timedelta(seconds=0.05)).tokens == pytest.approx(1.0)


def batches(redrive: Redrive, now: datetime, *milliseconds: int) -> list[int]:
    """Messages sent after a batch at each of these times, each as if by another process."""
    moved = []
    for offset in milliseconds:
        job = Redrive.objects.get(pk=redrive.pk)
        redrives.WORK.batch(job, now + timedelta(milliseconds=offset))
        job.save()
        moved.append(job.moved)
    return moved


def test_the_tokens_live_in_the_row(scene: DeadLetterScene) -> None:
    scene.add_dead(30)
    redrive = create_redrive(scene.filter, newest_id(), actor="ann", reason="", rate_per_second=20)

    assert batches(redrive, database_now(), 0, 100, 150, 225, 300) == [0, 2, 3, 4, 6]


def test_a_new_pace_holds_from_the_next_batch_on(scene: DeadLetterScene) -> None:
    scene.add_dead(200)
    redrive = create_redrive(scene.filter, newest_id(), actor="ann", reason="", rate_per_second=1)
    now = database_now()

    assert batches(redrive, now, 0) == [0]
    redrives.set_rate(redrive.pk, 1_000, actor="ann")

    assert batches(redrive, now, 1_000) == [100]


def test_a_rest_is_not_caught_up_with(scene: DeadLetterScene) -> None:
    scene.add_dead(30)
    redrive = create_redrive(scene.filter, newest_id(), actor="ann", reason="", rate_per_second=20)
    now = database_now()

    assert batches(redrive, now, 0, 100) == [0, 2]
    redrives.pause(redrive.pk, actor="ann")
    redrives.resume(redrive.pk, actor="ann")

    assert batches(redrive, now, 60_000, 60_050) == [2, 3]
