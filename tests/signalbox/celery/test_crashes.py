"""Children, workers and the database are killed in the middle of a task: nothing is lost, nothing is finished twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from queues.database.embedded import EmbeddedPostgres
from tests.prepared import prepare
from tests.signalbox.celery.conftest import Shop, wait_until
from tests.signalbox.celery.shop import TABLES

pytestmark = [pytest.mark.timeout(900), pytest.mark.proof]


def test_a_task_of_a_killed_child_runs_in_another(shop: Shop) -> None:
    shop.start_worker()
    shop.send("wait", "survivor")
    [(_, child)] = wait_for_beginnings(shop, 1)

    os.kill(child, signal.SIGKILL)
    wait_for_beginnings(shop, 2)
    shop.open_gate("survivor")
    shop.wait_settled()

    assert (shop.done(), shop.dead()) == (["survivor"], [])


def test_the_tasks_of_a_killed_worker_run_in_another(shop: Shop, let_leases_end: Callable[[str], None]) -> None:
    worker = shop.start_worker("--concurrency=2", "--prefetch-multiplier=4")
    names = [f"task {number}" for number in range(6)]
    for name in names:
        shop.send("wait", name)
    wait_for_beginnings(shop, 2)

    worker.kill()
    let_leases_end(shop.queue)
    shop.start_worker("--concurrency=2", "--prefetch-multiplier=4")
    wait_for_beginnings(shop, 4)
    for name in names:
        shop.open_gate(name)
    shop.wait_done(len(names))
    shop.wait_settled()

    assert shop.done() == names


def test_what_a_stopped_worker_had_not_begun_goes_back_at_once(shop: Shop) -> None:
    shop.options = {"visibility_timeout": 3600.0}
    worker = shop.start_worker("--concurrency=1", "--prefetch-multiplier=4", "--pool=solo")
    names = ["a", "b", "c"]
    for name in names:
        shop.send("wait", name)
    wait_for_beginnings(shop, 1)

    worker.process.send_signal(signal.SIGTERM)
    shop.open_gate("a")
    shop.open_gate("b")
    shop.open_gate("c")
    worker.process.wait(120)
    shop.start_worker()
    shop.wait_done(len(names))
    shop.wait_settled()

    assert shop.done() == names


def wait_for_beginnings(shop: Shop, count: int) -> list[tuple[str, int]]:
    wait_until(lambda: len(shop.begun()) >= count, lambda: f"{shop.begun()}\n{shop.logs()[-20000:]}")
    return shop.begun()


class Server:
    """A PostgreSQL that only these tests have, and may kill."""

    def __init__(self, home: Path) -> None:
        self._server = EmbeddedPostgres(home)
        self.url = self._server.url()

    def start(self) -> None:
        prepare(self._server.folders)
        self._server.ensure_running()

    def stop(self) -> None:
        self._server.stop()

    def end(self, number: signal.Signals) -> None:
        """End the server in this way; its keeper starts it again, and that has happened when this returns."""
        pid = self._pid()
        assert pid is not None
        os.kill(pid, number)
        wait_until(lambda: self._pid() not in (None, pid))

    def _pid(self) -> int | None:
        try:
            with psycopg.connect(self.url) as connection:
                row = connection.execute("select pg_read_file('postmaster.pid')").fetchone()
        except psycopg.OperationalError:
            return None
        return int(row[0].split()[0]) if row else None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a migrated server, and stop it at the end."""
    server = Server(tmp_path_factory.mktemp("s"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def own_shop(server: Server, tmp_path: Path) -> Iterator[Shop]:
    """A shop in that server, with leases longer than it takes to start."""
    shop = Shop(server.url, f"shop-{tmp_path.name[-8:].strip('_')}", tmp_path, {"visibility_timeout": 120.0})
    shop.rows(TABLES)
    yield shop
    shop.close()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_database_that_restarts_costs_nothing(server: Server, own_shop: Shop, ending: signal.Signals) -> None:
    shop = own_shop
    names = [f"task {number}" for number in range(8)]
    shop.start_worker("--concurrency=2", "--prefetch-multiplier=2")
    for name in names:
        shop.send("wait", name)
    wait_for_beginnings(shop, 2)

    server.end(ending)
    for name in names:
        shop.open_gate(name)
    shop.wait_done(len(names))
    shop.wait_settled()

    assert shop.done() == names
    assert sorted(name for name, _ in shop.begun()) == names
    assert shop.app.control.inspect(destination=[shop.workers[0].name], timeout=120).ping()
