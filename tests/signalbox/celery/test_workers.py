"""Tasks through real workers: each runs once, however long it takes and however late it is due."""

from __future__ import annotations

from typing import Any

import pytest

from tests.signalbox.celery.conftest import Shop, wait_until

pytestmark = pytest.mark.timeout(600)


@pytest.mark.proof
@pytest.mark.parametrize("prefetch", [1, 10])
def test_two_thousand_tasks_run_once_each(shop: Shop, prefetch: int) -> None:
    names = [f"task {number:04d}" for number in range(2000)]
    with shop.app.producer_pool.acquire(block=True) as producer:
        for name in names:
            shop.send("work", name, producer=producer)

    shop.start_worker("--concurrency=1", f"--prefetch-multiplier={prefetch}")
    shop.wait_done(len(names))
    shop.wait_settled()

    assert shop.done() == names
    assert set(shop.receive_counts()) == {1}


@pytest.mark.proof
def test_a_task_longer_than_its_lease_runs_once(shop: Shop) -> None:
    """The worker holds one task and asks for no other: else it might take its own back before it is extended."""
    shop.options = {"visibility_timeout": 6.0}
    shop.start_worker("--concurrency=1", "--prefetch-multiplier=1")
    shop.send("wait", "long")
    wait_until(shop.begun, shop.logs)

    def outlived_and_extended() -> list[Any]:
        return shop.rows(
            "select 1 from signalbox.lease l join signalbox.queue q using (queue_id) where q.name = %s"
            " and clock_timestamp() > l.leased_at + interval '6 seconds'"
            " and l.deadline > l.leased_at + interval '9 seconds'",
            shop.queue,
        )

    wait_until(outlived_and_extended, shop.logs)
    shop.open_gate("long")
    shop.wait_done(1)
    shop.wait_settled()

    assert shop.done() == ["long"]
    assert shop.receive_counts() == [1]


@pytest.mark.proof
def test_a_countdown_longer_than_a_lease_runs_once(shop: Shop) -> None:
    shop.options = {"visibility_timeout": 5.0}
    shop.start_worker()
    shop.send("work", "later", countdown=7)
    shop.send("work", "now")
    shop.wait_done(2)
    shop.wait_settled()

    assert shop.done() == ["later", "now"]
    assert shop.receive_counts() == [1, 1]


def test_a_refused_task_is_a_dead_letter_with_its_name(shop: Shop) -> None:
    shop.start_worker()
    task_id = shop.send("refuse", "bad")
    wait_until(shop.dead, shop.logs)

    [(attributes, reason, error_class, error, receive_count, payload)] = shop.dead()
    assert (attributes["task"], attributes["task_id"]) == ("shop.refuse", task_id)
    assert (reason, error_class, receive_count) == ("rejected", "Rejected", 1)
    assert "shop.refuse" in error
    assert payload["body"][0] == ["bad"]
