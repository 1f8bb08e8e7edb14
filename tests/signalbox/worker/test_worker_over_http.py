"""Workers that know a server and no database: the same as over the database, and through its restarts."""

from __future__ import annotations

import signal

import pytest

from tests.console.api_keys.keys import new_key
from tests.console.servers import console_server
from tests.ports import free_port
from tests.signalbox.worker.workers import eventually, gone, handler_starter, worker_starter


@pytest.fixture
def start_worker(api_address, tmp_path):
    """Start workers that ask the server, with the key in a file."""
    url, key = api_address
    (tmp_path / "key").write_text(f"This is the key:\n{key}\n")
    with worker_starter(tmp_path, DATABASE_URL="", SIGNALBOX_URL=url) as start:
        start_handler = handler_starter(start)
        yield lambda *arguments, **options: start_handler(*arguments, api_key_file=tmp_path / "key", **options)


def test_runs_and_acks(client, queue, notes, start_worker, held):
    ids = client.send_batch(queue, [notes.payload()] * 20)
    start_worker(queue, "record", concurrency=2, prefetch=10)
    eventually(lambda: held(queue) == 0)
    assert sorted(line[1] for line in notes.lines) == ids


def test_a_message_that_comes_later_is_found(client, queue, notes, start_worker, held):
    worker = start_worker(queue, "record")
    eventually(worker.children)
    client.send(queue, notes.payload())
    eventually(lambda: held(queue) == 0)


@pytest.mark.proof
def test_a_worker_that_hardly_polls_waits_at_the_server(client, queue, notes, start_worker):
    worker = start_worker(queue, "record", poll_interval=3600)
    eventually(worker.children)
    for times in (1, 2):
        client.send(queue, notes.payload())
        eventually(lambda: len(notes.said("ran")) == times)  # noqa: B023 - it is called here
    assert "HTTP Request" not in worker.log.read_text()


@pytest.mark.proof
def test_one_process_runs_all_handlers_of_a_module(client, notes, api_address, tmp_path, held):
    url, key = api_address
    with worker_starter(tmp_path, DATABASE_URL="", SIGNALBOX_URL=url, SIGNALBOX_API_KEY=key) as start:
        for queue in ("decorated-orders", "decorated-mail"):
            client.create_queue(queue)
            client.send(queue, notes.payload())
        for queue in ("decorated-records", "decorated-exports", "decorated-letters"):
            client.create_queue(queue)
        start(app="tests.signalbox.worker.decorated")
        eventually(lambda: not held("decorated-orders") and not held("decorated-mail"))
    assert sorted(line[0] for line in notes.lines) == ["posted", "shipped"]


@pytest.mark.proof
def test_where_no_long_poll_is_left_it_looks_now_and_then(client, notes, start_worker, held, connection):
    queue = "few-polls-orders"
    client.create_queue(queue, tenant="few-polls")
    connection.execute("update signalbox.tenant set max_long_polls = 1 where name = 'few-polls'")
    connection.commit()
    workers = [start_worker(queue, "wait_async", concurrency=2) for _ in range(2)]
    for worker in workers:
        eventually(worker.children)
    client.send_batch(queue, [notes.payload()] * 4)
    began = eventually(lambda: len(notes.said("began")) == 4 and notes.said("began"))
    assert len({line[3] for line in began}) == 2
    notes.open_gate()
    eventually(lambda: held(queue) == 0)


@pytest.mark.proof
def test_results_and_states_are_kept(client, queue, notes, start_worker):
    message_id = client.send(queue, notes.payload(steps=3))
    start_worker(queue, "go_step_by_step", keep_results=True)
    assert client.wait_settled(message_id, timeout=120).result == {"steps": [1, 2, 3]}


@pytest.mark.proof
class TestFailures:
    def test_poison_becomes_a_dead_letter_with_its_stack(self, client, make_queue, notes, start_worker, dead_letter):
        queue = make_queue(max_receives=2, backoff_base_seconds=0.1)
        message_id = client.send(queue, notes.payload(customer=7))
        start_worker(queue, "poison")
        reason, error_class, error, details, receive_count = eventually(lambda: dead_letter(message_id))
        assert (reason, error_class, receive_count) == ("runtime_error", "KeyError", 2)
        assert "no such customer" in error
        assert 'handlers.py", line' in details

    def test_a_busy_loop_is_really_stopped(self, client, queue, notes, start_worker, failures):
        message_id = client.send(queue, notes.payload())
        start_worker(queue, "spin", task_timeout=3)
        pid = eventually(lambda: notes.said("began"))[0][3]
        (reason, error_class, _, _), *_ = eventually(lambda: failures(message_id))
        assert (reason, error_class) == ("lock_expired", "TaskTimeout")
        eventually(lambda: gone(pid))


@pytest.mark.proof
class TestLeases:
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
        eventually(lambda: gone(pid))
        let_leases_end(queue)
        start_worker(queue, "record")
        eventually(lambda: held(queue) == 0)
        assert [line[2] for line in notes.said("ran")] == [2]


class TestStopping:
    @pytest.mark.proof
    def test_a_signal_lets_runs_finish_and_gives_back_the_rest(self, client, queue, notes, start_worker, held):
        client.send_batch(queue, [notes.payload()] * 3)
        worker = start_worker(queue, "wait_for_gate", prefetch=2)
        eventually(lambda: notes.said("began"))
        worker.tell(signal.SIGTERM)
        eventually(lambda: "Stopping" in worker.log.read_text())
        notes.open_gate()
        assert worker.wait() == 0
        assert len(notes.said("ended")) == 1
        assert len(client.receive(queue, 10)) == 2

    @pytest.mark.proof
    def test_an_idle_worker_stops(self, queue, start_worker):
        worker = start_worker(queue, "record")
        eventually(worker.children)
        worker.tell(signal.SIGTERM)
        assert worker.wait() == 0

    @pytest.mark.proof
    def test_a_missing_queue_ends_the_worker(self, start_worker):
        worker = start_worker("nowhere", "record")
        assert worker.wait() == 1
        assert "nowhere" in worker.log.read_text()

    def test_a_key_that_is_none_ends_the_worker(self, queue, start_worker, tmp_path):
        (tmp_path / "key").write_text("sbx_mistyped.key")
        worker = start_worker(queue, "record")
        assert worker.wait() == 1
        assert "key" in worker.log.read_text().splitlines()[-1]


@pytest.mark.proof
class TestOutages:
    @pytest.fixture
    def port(self):
        return free_port()

    @pytest.fixture
    def start_worker(self, port, commits, tmp_path):
        """Start workers that ask whatever is on that port."""
        key = new_key("receive").text
        with worker_starter(
            tmp_path, DATABASE_URL="", SIGNALBOX_URL=f"http://127.0.0.1:{port}", SIGNALBOX_API_KEY=key
        ) as start:
            yield handler_starter(start)

    def test_a_server_that_dies_and_comes_back_loses_nothing(
        self, dsn, port, client, make_queue, notes, start_worker, held
    ):
        queue = make_queue(visibility_timeout_seconds=5)
        ids = client.send_batch(queue, [notes.payload()] * 200)
        with console_server(dsn, port) as server:
            for _ in range(2):
                start_worker(queue, "record", prefetch=3)
            eventually(lambda: len(notes.said("ran")) > 20)
            server.process.kill()
            server.process.wait()
        ids += client.send_batch(queue, [notes.payload()] * 20)
        with console_server(dsn, port):
            eventually(lambda: held(queue) == 0)
        assert {line[1] for line in notes.said("ran")} == set(ids)
        assert all(client.message_outcome(message_id).outcome == "acked" for message_id in ids)

    def test_a_run_that_ends_while_the_server_is_away_is_settled_later(
        self, dsn, port, client, make_queue, notes, start_worker, held
    ):
        queue = make_queue(visibility_timeout_seconds=3600)
        client.send(queue, notes.payload())
        with console_server(dsn, port) as server:
            worker = start_worker(queue, "wait_for_gate")
            eventually(lambda: notes.said("began"))
            server.process.kill()
            server.process.wait()
        notes.open_gate()
        eventually(lambda: "Could not ack" in worker.log.read_text())
        assert "ServerUnavailable" in worker.log.read_text()
        with console_server(dsn, port):
            eventually(lambda: held(queue) == 0)
        assert len(notes.said("began")) == 1

    def test_a_worker_may_be_there_before_the_server(self, dsn, port, client, queue, notes, start_worker, held):
        client.send(queue, notes.payload())
        worker = start_worker(queue, "record")
        eventually(lambda: "Could not claim messages" in worker.log.read_text())
        with console_server(dsn, port):
            eventually(lambda: held(queue) == 0)


@pytest.mark.proof
def test_announces_itself(queue, start_worker, connection):
    start_worker(queue, "record", consumer="the worker")

    def announced():
        connection.rollback()
        return connection.execute(
            "select details from signalbox.consumer join signalbox.queue using (queue_id)"
            " where name = %s and consumer = 'the worker' and details ? 'pid'",
            [queue],
        ).fetchone()

    (details,) = eventually(announced)
    assert details["handler"] == "tests.signalbox.worker.handlers:record"
