"""Remote control of real workers: commands reach them through mailboxes, and replies come back."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from urllib.request import urlopen

import pytest

from tests.ports import free_port
from tests.signalbox.celery.conftest import Shop, Worker, wait_until

pytestmark = [pytest.mark.timeout(600), pytest.mark.proof]
REPLY_SECONDS = 120.0
"""How long to wait for a reply at most: with one destination the first ends the wait."""


def ask(shop: Shop, worker: Worker, command: str, **arguments: object) -> object:
    inspection = shop.app.control.inspect(destination=[worker.name], timeout=REPLY_SECONDS)
    return getattr(inspection, command)(**arguments)[worker.name]


def test_workers_answer_what_they_are_asked(shop: Shop) -> None:
    worker = shop.start_worker()
    later = shop.send("work", "later", countdown=3600)
    shop.rows('select signalbox.send(%s, \'{"task": "shop.work", "args": [1]}\', delay_seconds => 900)', shop.queue)
    task_id = shop.send("wait", "busy")
    wait_until(shop.begun, shop.logs)

    assert ask(shop, worker, "ping") == {"ok": "pong"}
    assert [task["id"] for task in ask(shop, worker, "active")] == [task_id]
    soon, last = ask(shop, worker, "scheduled")
    assert (soon["request"]["name"], soon["request"]["args"]) == ("shop.work", [1])
    assert (last["request"]["id"], last["request"]["args"]) == (later, ["later"])
    assert datetime.fromisoformat(soon["eta"]) < datetime.fromisoformat(last["eta"])
    assert "shop.work" in ask(shop, worker, "registered")
    assert [queue["name"] for queue in ask(shop, worker, "active_queues")] == [shop.queue]
    shop.open_gate("busy")
    shop.wait_done(1)


def test_every_worker_hears_a_broadcast(shop: Shop) -> None:
    workers = [shop.start_worker(), shop.start_worker()]

    replies = shop.app.control.broadcast("ping", reply=True, limit=2, timeout=REPLY_SECONDS)

    assert {name for reply in replies for name in reply} >= {worker.name for worker in workers}


def test_a_revoked_task_does_not_run(shop: Shop) -> None:
    worker = shop.start_worker("--concurrency=1", "--prefetch-multiplier=4")
    shop.send("wait", "first")
    wait_until(shop.begun, shop.logs)
    revoked = shop.send("work", "revoked")
    shop.send("work", "kept")
    wait_until(lambda: len(ask(shop, worker, "reserved")) == 2, shop.logs)

    shop.app.control.revoke(revoked, destination=[worker.name], reply=True, timeout=REPLY_SECONDS)
    shop.open_gate("first")
    shop.wait_done(2)
    shop.wait_settled()

    assert shop.done() == ["first", "kept"]


def test_a_task_that_runs_is_revoked_by_ending_it(shop: Shop) -> None:
    worker = shop.start_worker()
    task_id = shop.send("wait", "endless")
    wait_until(shop.begun, shop.logs)

    shop.app.control.revoke(
        task_id, terminate=True, signal="SIGKILL", destination=[worker.name], reply=True, timeout=REPLY_SECONDS
    )
    shop.wait_settled()

    assert (shop.done(), shop.dead()) == ([], [])


def test_a_remote_shutdown_lets_a_worker_finish_its_tasks(shop: Shop) -> None:
    worker = shop.start_worker("--concurrency=1", "--prefetch-multiplier=4")
    shop.send("wait", "last")
    wait_until(shop.begun, shop.logs)
    shop.app.control.shutdown(destination=[worker.name])
    wait_until(lambda: "Got shutdown" in worker.said(), worker.said)
    shop.open_gate("last")
    worker.process.wait(REPLY_SECONDS)

    assert shop.done() == ["last"]
    wait_until(lambda: shop.in_flight() == 0, worker.said)
    assert shop.receive_counts() == [1]


def test_a_dead_workers_mailbox_is_swept(shop: Shop) -> None:
    worker = shop.start_worker()
    name = f"{worker.name}.celery.pidbox"
    find = "select expires_at from signalbox.mailbox where name = %s"
    assert shop.rows(find, name)

    worker.kill()
    shop.rows("update signalbox.mailbox set expires_at = clock_timestamp() - interval '1 s' where name = %s", name)
    wait_until(lambda: shop.rows("select signalbox.expire_mailboxes()") and not shop.rows(find, name))

    assert not shop.rows("select from signalbox.queue where strpos(name, 'pidbox') > 0")


def test_a_mailbox_that_was_swept_too_early_comes_back(shop: Shop) -> None:
    worker = shop.start_worker()
    shop.rows("select signalbox.close_mailbox(%s)", f"{worker.name}.celery.pidbox")

    find = "select 1 from signalbox.mailbox m join signalbox.binding b using (mailbox_id) where m.name = %s"
    wait_until(lambda: shop.rows(find, f"{worker.name}.celery.pidbox"), worker.said)

    assert ask(shop, worker, "ping") == {"ok": "pong"}


def test_flower_shows_the_messages_of_the_queues(shop: Shop) -> None:
    worker, port = shop.start_worker(), free_port()
    shop.send("work", "later", countdown=3600)
    shop.send("wait", "busy")
    wait_until(shop.begun, shop.logs)
    flower = shop.start("flower", "flower", "--address=127.0.0.1", f"--port={port}")

    def row() -> list[str] | None:
        with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/broker", timeout=REPLY_SECONDS) as page:
            found = re.search(rf'<tr id="{shop.queue}">(.*?)</tr>', page.read().decode(), re.DOTALL)
            return found and re.findall(r">([^<]*)</td>", found[1])
        return None

    wait_until(row, flower.said)
    name, messages, unacknowledged, ready, *_ = row() or []
    assert (name, messages, unacknowledged, ready) == (shop.queue, "2", "1", "0")
    shop.open_gate("busy")
    shop.wait_done(1)
    assert worker.process.poll() is None
