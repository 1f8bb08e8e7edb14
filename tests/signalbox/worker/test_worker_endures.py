"""Workers as real processes: what they hold, how they stop, and what they survive."""

from __future__ import annotations

import asyncio
import signal
import sys
from datetime import timedelta

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from signalbox.worker.options import Options
from signalbox.worker.processes import children
from signalbox.worker.processes.pool import Pool
from tests.signalbox.worker.workers import eventually, gone


class TestLeases:
    @pytest.mark.proof
    def test_heartbeats_keep_what_runs_and_what_waits(self, client, queue, notes, start_worker, held, lease):
        ids = client.send_batch(queue, [notes.payload()] * 3)
        start_worker(queue, "wait_for_gate", prefetch=2, heartbeat=1)
        eventually(lambda: notes.said("began") and all(lease(message_id) for message_id in ids))
        deadlines = {message_id: lease(message_id)[1] for message_id in ids}
        for message_id in ids:
            eventually(lambda each=message_id: lease(each)[1] > deadlines[each] + timedelta(seconds=2))
        assert client.receive(queue) == []
        notes.open_gate()
        eventually(lambda: held(queue) == 0)
        assert sorted(line[1:3] for line in notes.said("ended")) == [(message_id, 1) for message_id in ids]

    @pytest.mark.proof
    def test_a_run_whose_lease_is_lost_is_stopped(self, client, queue, notes, start_worker):
        client.send(queue, notes.payload())
        start_worker(queue, "spin", heartbeat=1)
        pid = eventually(lambda: notes.said("began"))[0][3]
        assert client.purge(queue, states=["leased"]) == 1
        eventually(lambda: gone(pid))

    def test_a_killed_workers_message_comes_back(self, client, queue, notes, start_worker, held, let_leases_end):
        client.send(queue, notes.payload())
        worker = start_worker(queue, "spin")
        pid = eventually(lambda: notes.said("began"))[0][3]
        worker.process.kill()
        eventually(lambda: gone(pid))  # the orphan's work would be useless
        let_leases_end(queue)
        start_worker(queue, "record")
        eventually(lambda: held(queue) == 0)
        assert [line[2] for line in notes.said("ran")] == [2]


class TestStopping:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_lets_runs_finish(self, client, queue, notes, start_worker, held, number):
        client.send(queue, notes.payload())
        worker = start_worker(queue, "wait_for_gate")
        eventually(lambda: notes.said("began"))
        worker.tell(number)
        eventually(lambda: "Stopping" in worker.log.read_text())
        client.send(queue, notes.payload())
        notes.open_gate()
        assert worker.wait() == 0
        assert len(notes.said("ended")) == 1
        assert held(queue) == 1

    @pytest.mark.proof
    def test_what_waits_and_what_does_not_finish_goes_back(self, client, queue, notes, start_worker, failures, held):
        ids = client.send_batch(queue, [notes.payload()] * 3)
        worker = start_worker(queue, "wait_for_gate", prefetch=2, stop_grace=0.5)
        pid = eventually(lambda: notes.said("began"))[0][3]
        worker.tell(signal.SIGTERM)
        assert worker.wait() == 0
        assert gone(pid)
        assert sorted(message.id for message in client.receive(queue, 10)) == ids
        assert [failures(message_id) for message_id in ids] == [[], [], []]

    @pytest.mark.proof
    def test_a_second_signal_stops_at_once(self, client, queue, notes, start_worker):
        client.send(queue, notes.payload())
        worker = start_worker(queue, "spin", stop_grace=600)
        eventually(lambda: notes.said("began"))
        worker.tell(signal.SIGTERM)
        eventually(lambda: "Stopping" in worker.log.read_text())
        worker.tell(signal.SIGTERM)
        assert worker.wait() == 0
        assert len(client.receive(queue)) == 1

    @pytest.mark.proof
    def test_an_idle_worker_stops(self, queue, start_worker):
        worker = start_worker(queue, "record")
        eventually(worker.children)
        worker.tell(signal.SIGTERM)
        assert worker.wait() == 0


class TestOutages:
    def test_lost_connections_are_survived(self, client, queue, notes, start_worker, held, dsn):
        client.send_batch(queue, [notes.payload()] * 2)
        start_worker(queue, "wait_for_gate")
        eventually(lambda: notes.said("began"))
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
                " where application_name like 'signalbox %' and pid <> pg_backend_pid()"
            )
        notes.open_gate()
        eventually(lambda: held(queue) == 0)
        assert len(notes.said("ended")) == 2

    @pytest.mark.proof
    def test_a_run_that_ends_while_the_database_is_away_is_settled_later(
        self, client, queue, notes, start_worker, held, dsn
    ):
        client.send(queue, notes.payload())
        worker = start_worker(queue, "wait_for_gate")
        eventually(lambda: notes.said("began"))
        with psycopg.connect(make_conninfo(dsn, dbname="postgres"), autocommit=True) as elsewhere:
            name = sql.Identifier(conninfo_to_dict(dsn)["dbname"])
            elsewhere.execute(sql.SQL("alter database {} allow_connections false").format(name))
            try:
                elsewhere.execute(
                    "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
                    " where application_name like 'signalbox %'"
                )
                notes.open_gate()
                eventually(lambda: "Could not ack" in worker.log.read_text())
            finally:
                elsewhere.execute(sql.SQL("alter database {} allow_connections true").format(name))
        eventually(lambda: held(queue) == 0)
        assert len(notes.said("began")) == 1

    @pytest.mark.proof
    def test_a_missing_queue_ends_the_worker(self, start_worker):
        worker = start_worker("nowhere", "record")
        assert worker.wait() == 1
        assert "nowhere" in worker.log.read_text()

    @pytest.mark.proof
    def test_a_missing_handler_ends_the_worker_with_its_reason(self, queue, start_worker):
        worker = start_worker(queue, "no_such_function")
        assert worker.wait() == 1
        assert "no_such_function" in worker.log.read_text()


@pytest.mark.proof
def test_an_announcement_wakes_a_worker_that_hardly_polls(client, queue, notes, start_worker, connection, listening):
    start_worker(queue, "record", poll_interval=3600)
    eventually(listening)
    (since,) = connection.execute("select pg_current_snapshot()::text").fetchone()
    client.send(queue, notes.payload())
    connection.commit()
    connection.execute("select signalbox.announce(%s::pg_snapshot)", [since])
    connection.commit()
    eventually(lambda: notes.said("ran"))


@pytest.mark.proof
def test_announces_itself(queue, start_worker, dsn):
    worker = start_worker(queue, "record", consumer="the worker", concurrency=3)

    def announced():
        with psycopg.connect(dsn) as connection:
            return connection.execute(
                "select details from signalbox.consumer join signalbox.queue using (queue_id)"
                " where name = %s and consumer = 'the worker' and details ? 'pid'",
                [queue],
            ).fetchone()

    (details,) = eventually(announced)
    assert details["pid"] == worker.process.pid
    assert details["concurrency"] == 3
    assert details["host"]
    assert details["version"]


SLOW_HANDLER = """
import pathlib, time
log, closed = (pathlib.Path(__file__).with_name(name) for name in ("log", "closed"))
with log.open("a") as lines:
    lines.write("loads ")
while closed.exists():
    time.sleep(0.01)
with log.open("a") as lines:
    lines.write("loaded ")
def handle(message):
    pass
"""


def test_children_of_all_queues_load_their_handlers_a_few_at_a_time(tmp_path, monkeypatch):
    """A busy machine starts all of its workers at once: none may lose its time to load to the others."""
    monkeypatch.setattr(children, "STARTS_AT_ONCE", 1)
    script, log, closed = (tmp_path / name for name in ("slow.py", "log", "closed"))
    script.write_text(SLOW_HANDLER)
    closed.touch()

    async def start_two():
        pools = [Pool(Options("", queue, f"{script}:handle")) for queue in ("a", "b")]
        opening = [asyncio.create_task(pool.open()) for pool in pools]
        while not log.exists():
            await asyncio.sleep(0.01)
        begun_later = await asyncio.create_subprocess_exec(sys.executable, "-c", "import signalbox.worker")
        assert await begun_later.wait() == 0
        closed.unlink()
        await asyncio.gather(*opening)
        await asyncio.gather(*(pool.close() for pool in pools))

    asyncio.run(start_two())
    assert log.read_text().split() == ["loads", "loaded", "loads", "loaded"]
