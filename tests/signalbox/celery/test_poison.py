"""A task that kills its worker is counted, dead-lettered by name, found, redriven from the console, and run."""

from __future__ import annotations

import pytest

from dlq.redrives import redrives
from queues.dead_letters.ids import newest_id
from signalbox import Client
from tests.dlq.dead_letter_scenes import create_redrive
from tests.signalbox.celery.conftest import Shop, wait_until

pytestmark = pytest.mark.timeout(600)


@pytest.mark.proof
def test_a_poisonous_task_is_dead_lettered_redriven_and_runs(shop: Shop, commits: None) -> None:
    shop.options = {"max_receives": 2, "queue_settings": {"backoff_base_seconds": 0.0}}
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
    redrive = create_redrive(f"queue:{shop.queue} attr.task:shop.die", newest_id(), actor="ann", reason="mended")
    redrives.run_in_foreground(redrive.pk)
    shop.wait_done(1)
    shop.wait_settled()

    assert (shop.done(), shop.dead()) == (["poison"], [])


def test_a_task_that_raises_becomes_a_dead_letter_with_its_exception(shop: Shop) -> None:
    shop.conf = {
        "task_acks_on_failure_or_timeout": False,
        "task_annotations": {"*": {"Request": "signalbox.celery.requests:Request"}},
    }
    shop.start_worker()
    shop.send("fail", "this")
    wait_until(shop.dead, shop.logs)

    [(attributes, reason, error_class, error, _, _)] = shop.dead()
    assert (attributes["task"], reason) == ("shop.fail", "rejected")
    assert (error_class, error) == ("ValueError", "this is wrong")
    [(details,)] = shop.rows("select details from signalbox.dead_letter where source_queue = %s", shop.queue)
    assert "in fail" in details


KNOWN = {"content-type": "application/json", "content-encoding": "utf-8", "properties": {}}
ILLEGIBLE = [
    {"body": {"a": 1}, "headers": {}, "properties": {"body_encoding": "base64"}},
    {**KNOWN, "body": "[[], {}, {}]", "headers": {"task": "shop.work"}},  # a task without an id
    {**KNOWN, "body": "[[], {}, {}]", "headers": {"task": [1]}},
]


@pytest.mark.proof
def test_an_unreadable_task_is_dead_lettered_and_stops_no_worker(shop: Shop) -> None:
    """Send messages that any sender can write, each of which would end a worker if it were returned to the queue."""
    shop.options = {"max_receives": 2, "queue_settings": {"backoff_base_seconds": 0.0}}
    worker = shop.start_worker()
    with Client(shop.dsn) as client:
        for payload in ILLEGIBLE:
            client.send(shop.queue, payload)
    shop.send("work", "legible")

    shop.wait_done(1)
    wait_until(lambda: len(shop.dead()) == len(ILLEGIBLE), shop.logs)

    assert {row[2] for row in shop.dead()} == {"TypeError", "KeyError"}
    assert {row[4] for row in shop.dead()} == {2}
    assert worker.process.poll() is None


def test_a_consumer_of_an_unreadable_message_gets_an_error_and_holds_nothing(shop: Shop) -> None:
    shop.options = {"visibility_timeout": 3600.0, "max_receives": 1}
    with shop.app.connection_for_read() as connection, Client(shop.dsn) as client:
        channel = connection.default_channel
        channel.queue_declare(shop.queue)
        client.send(shop.queue, ILLEGIBLE[0])

        with pytest.raises(TypeError):
            channel.basic_get(shop.queue)

        wait_until(shop.dead, shop.logs)
    assert [row[2] for row in shop.dead()] == ["TypeError"]
