"""The token bucket keeps its pace from one message a second to five thousand, on a clock that only the test moves."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from dlq import redrives
from dlq.finding import database_now
from dlq.models import Redrive
from dlq.selecting import newest_id
from dlq.throttle import LATE_SECONDS, Bucket
from tests.dlq.graveyards import Graveyard

START = datetime(2026, 1, 1, tzinfo=UTC)
RATES = [1, 2, 7, 10, 15, 20, 99, 500, 3_333, 5_000]


def departures(rate: int, seconds: float, draw: random.Random, batch_messages: int = 500) -> list[tuple[float, int]]:
    """When how many messages went, by a runner that takes time for each batch and always wakes a little late."""
    now, bucket, gone = 0.0, Bucket(rate, 0.0, START), []
    while now < seconds:
        bucket = bucket.refilled(START + timedelta(seconds=now))
        messages = min(bucket.allowed, batch_messages)
        bucket = bucket.without(messages)
        gone.append((now, messages))
        batch_seconds = draw.uniform(0.001, 0.03)
        now += max(batch_seconds, bucket.seconds_to_next) + draw.uniform(0, LATE_SECONDS / 4)
    return gone


@pytest.mark.parametrize("rate", RATES)
def test_the_rate_holds_within_five_percent(rate: int) -> None:
    seconds = max(20.0, 100 / rate)

    moved = sum(messages for _, messages in departures(rate, seconds, random.Random(rate)))

    assert moved == pytest.approx(rate * seconds, rel=0.05)


@pytest.mark.parametrize("rate", RATES)
def test_no_more_than_a_tenth_of_a_second_goes_at_once(rate: int) -> None:
    assert max(messages for _, messages in departures(rate, 20, random.Random(rate))) <= max(1, rate / 10)


@pytest.mark.parametrize("rate", RATES)
def test_a_long_rest_earns_no_more_than_a_burst(rate: int) -> None:
    rested = Bucket(rate, 0.0, START).refilled(START + timedelta(hours=1))

    assert rested.allowed <= max(1, rate / 10)
    assert rested.tokens <= max(1, rate / 10) + rate * LATE_SECONDS


def test_a_clock_set_back_neither_gives_nor_takes() -> None:
    bucket = Bucket(10, 0.5, START).refilled(START - timedelta(hours=1))

    assert bucket.tokens == 0.5
    assert bucket.refilled(START - timedelta(hours=1) + timedelta(seconds=0.05)).tokens == pytest.approx(1.0)


def test_the_bucket_lives_in_the_row(graveyard: Graveyard) -> None:
    """Batches of several processes at times of the test's choosing: together they keep one pace."""
    graveyard.bury(30)
    redrive = redrives.create(graveyard.filter, newest_id(), actor="ann", reason="", rate_per_second=20)
    now = database_now()
    moved = []
    for milliseconds in (0, 100, 150, 225, 60_000):
        job = Redrive.objects.get(pk=redrive.pk)
        redrives.WORK.batch(job, now + timedelta(milliseconds=milliseconds))
        job.save()
        moved.append(job.moved)

    assert moved == [0, 2, 3, 4, 6]


def test_a_new_pace_holds_from_the_next_batch_on(graveyard: Graveyard) -> None:
    graveyard.bury(200)
    redrive = redrives.create(graveyard.filter, newest_id(), actor="ann", reason="", rate_per_second=1)
    now = database_now()

    job = Redrive.objects.get(pk=redrive.pk)
    assert redrives.WORK.batch(job, now) == 1.0
    job.save()
    redrives.set_rate(redrive.pk, 1_000, actor="ann")
    job = Redrive.objects.get(pk=redrive.pk)
    redrives.WORK.batch(job, now + timedelta(seconds=1))

    assert job.moved == 100
