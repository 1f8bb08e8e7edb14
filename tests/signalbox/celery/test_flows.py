"""Retries and chords: a message of each retry and each part, through the broker, and results in files."""

from __future__ import annotations

import pytest
from celery import chord

from tests.signalbox.celery.conftest import Shop

pytestmark = pytest.mark.timeout(600)


@pytest.mark.proof
def test_a_task_that_fails_is_retried_by_itself(shop: Shop) -> None:
    shop.start_worker()
    shop.send("stumble", "third time lucky", 2)
    shop.wait_done(1)
    shop.wait_settled()

    assert shop.done() == ["third time lucky"]
    assert shop.receive_counts() == [1, 1, 1]


@pytest.mark.proof
def test_a_retry_with_a_countdown_longer_than_a_lease_runs_once(shop: Shop) -> None:
    shop.options = {"visibility_timeout": 5.0}
    shop.start_worker()
    shop.send("retry", "later", 7.0)
    shop.wait_done(1)
    shop.wait_settled()

    assert shop.done() == ["later"]
    assert len(shop.begun()) == 2
    assert shop.receive_counts() == [1, 1]


@pytest.mark.proof
def test_a_chord_adds_up(shop: Shop) -> None:
    results = shop.home / "results"
    results.mkdir()
    shop.conf = {"result_backend": f"file://{results}", "result_chord_retry_interval": 0.1}
    shop.start_worker("--concurrency=2")
    add, total = shop.app.tasks["shop.add"], shop.app.tasks["shop.total"]

    chord([add.s(number, number) for number in range(10)], total.s("sum")).apply_async()
    shop.wait_done(1)
    shop.wait_settled()

    assert shop.done() == ["sum 90"]
