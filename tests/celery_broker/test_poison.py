"""A task that kills whoever runs it: counted, buried with its name, found, sent again from the console, and run."""

from __future__ import annotations

import pytest

from dlq import redrives
from dlq.selecting import newest_id
from tests.celery_broker.conftest import Shop, wait_until

pytestmark = pytest.mark.timeout(600)


def test_a_poisonous_task_is_buried_redriven_and_runs(shop: Shop, commits: None) -> None:
    shop.options = {"visibility_timeout": 2.0, "max_receives": 2, "queue_settings": {"backoff_base_seconds": 0.0}}
    shop.start_worker()
    task_id = shop.send("die", "poison")
    wait_until(shop.dead, shop.logs)

    [(attributes, reason, error_class, error, receive_count, payload)] = shop.dead()
    assert (attributes["task"], attributes["task_id"]) == ("shop.die", task_id)
    assert (reason, error_class, receive_count) == ("runtime_error", "Requeued", 2)
    assert "shop.die" in error
    assert payload["body"][0] == ["poison"]
    assert len(shop.begun()) == 2

    shop.open_gate("poison")
    redrive = redrives.create(f"queue:{shop.queue} attr.task:shop.die", newest_id(), actor="ann", reason="mended")
    redrives.run_in_foreground(redrive.pk)
    shop.wait_done(1)
    shop.wait_settled()

    assert (shop.done(), shop.dead()) == (["poison"], [])


def test_a_task_that_raises_is_buried_with_its_exception(shop: Shop) -> None:
    shop.conf = {
        "task_acks_on_failure_or_timeout": False,
        "task_annotations": {"*": {"Request": "signalbox.celery_broker.requests:Request"}},
    }
    shop.start_worker()
    shop.send("fail", "this")
    wait_until(shop.dead, shop.logs)

    [(attributes, reason, error_class, error, _, _)] = shop.dead()
    assert (attributes["task"], reason) == ("shop.fail", "rejected")
    assert (error_class, error) == ("ValueError", "this is wrong")
    [(details,)] = shop.rows("select details from signalbox.dead_letter where source_queue = %s", shop.queue)
    assert "in fail" in details
