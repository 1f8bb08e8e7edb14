"""The result backend: results by key, with an end, and chords that count each part once."""

from __future__ import annotations

import threading
import uuid

import psycopg
import pytest
from celery import Celery, chord, group
from celery.exceptions import TaskRevokedError
from celery.exceptions import TimeoutError as TimedOut
from celery.result import AsyncResult, GroupResult

from signalbox.celery.options import dsn_of_url
from signalbox.celery.results import ResultBackend
from signalbox.errors import InvalidArgument
from tests.signalbox.celery.conftest import Shop, broker_url

pytestmark = pytest.mark.usefixtures("django_db_setup")


@pytest.fixture
def backend(dsn: str) -> ResultBackend:
    app = Celery("shop", backend=broker_url(dsn), set_as_current=False)
    app.conf.result_expires = 3600
    assert isinstance(app.backend, ResultBackend)
    return app.backend


def new_id() -> str:
    return str(uuid.uuid4())


def test_a_result_is_stored_read_replaced_and_deleted(backend: ResultBackend) -> None:
    task_id = new_id()
    assert backend.get_task_meta(task_id)["status"] == "PENDING"

    backend.mark_as_started(task_id)
    backend.mark_as_done(task_id, {"sum": [1, "ä", None]})

    result = AsyncResult(task_id, backend=backend, app=backend.app)
    assert result.get(timeout=0) == {"sum": [1, "ä", None]}
    backend.store_result(task_id, "late", "FAILURE")
    assert result.get(timeout=0) == {"sum": [1, "ä", None]}, "a success stays"
    result.forget()
    assert AsyncResult(task_id, backend=backend, app=backend.app).status == "PENDING"


def test_a_failure_comes_back_as_its_exception(backend: ResultBackend) -> None:
    task_id = new_id()
    backend.mark_as_failure(task_id, ValueError("no stock"))

    with pytest.raises(ValueError, match="no stock"):
        AsyncResult(task_id, backend=backend, app=backend.app).get(timeout=0)


def test_a_wait_ends_with_the_result_or_in_time(backend: ResultBackend) -> None:
    task_id = new_id()
    looked = threading.Event()

    def end() -> None:
        looked.wait()
        backend.mark_as_done(task_id, 7)

    thread = threading.Thread(target=end)
    thread.start()
    assert backend.wait_for(task_id, timeout=60, on_interval=looked.set)["result"] == 7
    thread.join()
    with pytest.raises(TimedOut):
        AsyncResult(new_id(), backend=backend, app=backend.app).get(timeout=0)


def test_an_expired_result_is_not_read_and_is_deleted(backend: ResultBackend, dsn: str) -> None:
    kept, gone = new_id(), new_id()
    for task_id in (kept, gone):
        backend.mark_as_done(task_id, 1)
    with psycopg.connect(dsn) as connection:
        update = "update signalbox.celery_result set expires_at = now() - interval '1 s' where key like %s"
        connection.execute(update, [f"%{gone}"])

    assert backend.get_task_meta(gone, cache=False)["status"] == "PENDING"
    backend.cleanup()

    with psycopg.connect(dsn) as connection:
        left = connection.execute("select key from signalbox.celery_result").fetchall()
    assert [key for (key,) in left if gone in key] == []
    assert [key for (key,) in left if kept in key] != []


def test_parts_that_end_at_once_are_each_counted_once(backend: ResultBackend) -> None:
    key, parts = f"chord-unlock-{new_id()}".encode(), [new_id() for _ in range(8)]
    counts: list[int] = []

    def end(part: str) -> None:
        backend._ending.task_id = part
        counts.append(backend.incr(key))
        counts.append(backend.incr(key))  # the task ran twice

    threads = [threading.Thread(target=end, args=[part]) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert max(counts) == len(parts)
    assert set(counts) == set(range(1, len(parts) + 1))


def test_workers_run_a_group_and_a_chord_and_revoke_what_has_expired(shop: Shop, dsn: str) -> None:
    shop.conf["result_backend"] = broker_url(dsn)
    shop.start_worker("--concurrency=2", "--pool=threads")
    tasks = shop.app.tasks
    numbers = [tasks["shop.add"].s(number, 1).set(queue=shop.queue) for number in range(5)]

    added = group(numbers, app=shop.app).apply_async()
    assert isinstance(added, GroupResult)
    assert added.get(timeout=120) == [1, 2, 3, 4, 5]
    whole = chord(numbers, tasks["shop.total"].s("chord").set(queue=shop.queue), app=shop.app).apply_async()
    assert whole.get(timeout=120) == 15
    late = numbers[0].apply_async(countdown=0.2, expires=0.1)
    with pytest.raises(TaskRevokedError):
        late.get(timeout=120)


@pytest.mark.parametrize("url", ["redis://here", "signalbox://user@host:port:port/db?bad", "signalbox"])
def test_a_url_that_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument, match=r"the URL"):
        dsn_of_url(url)


def test_the_password_is_not_shown(backend: ResultBackend) -> None:
    backend.url = "signalbox://shop:secret@db/shop?sslpassword=other"

    assert backend.as_uri() == "signalbox://shop:**@db/shop"
