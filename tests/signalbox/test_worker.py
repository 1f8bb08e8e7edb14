"""Workers as real processes: what becomes of messages, and of the processes that run them."""

from __future__ import annotations

import signal
from datetime import timedelta

import psutil
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.signalbox.workers import eventually


@pytest.fixture
def failures(dsn):
    """The failures recorded for a message: (reason, error_class, error, details), oldest first."""

    def look(message_id):
        with psycopg.connect(dsn) as connection:
            return connection.execute(
                "select reason, error_class, error, details from signalbox.failure"
                " where message_id = %s order by failure_id",
                [message_id],
            ).fetchall()

    return look


@pytest.fixture
def dead_letter(dsn):
    def look(message_id):
        with psycopg.connect(dsn) as connection:
            return connection.execute(
                "select reason, error_class, error, details, receive_count from signalbox.dead_letter"
                " where message_id = %s",
                [message_id],
            ).fetchone()

    return look


@pytest.fixture
def held(dsn):
    """How many messages of a queue are anywhere in it."""

    def look(queue):
        with psycopg.connect(dsn) as connection:
            (count,) = connection.execute(
                "select count(*) from signalbox.message_status join signalbox.queue using (queue_id)"
                " where name = %s and status <> 'completed'",
                [queue],
            ).fetchone()
        return count

    return look


@pytest.fixture
def lease(dsn):
    """When a message was taken, and until when it is held."""

    def look(message_id):
        with psycopg.connect(dsn) as connection:
            return connection.execute(
                "select leased_at, deadline from signalbox.lease where message_id = %s", [message_id]
            ).fetchone()

    return look


@pytest.fixture
def listening(dsn):
    def look():
        with psycopg.connect(dsn) as connection:
            return connection.execute(
                "select pid from pg_stat_activity where state = 'idle'"
                " and application_name = 'signalbox listener' and query like 'listen %'"
            ).fetchone()

    return look


def gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_runs_and_acks(client, queue, notes, start_worker, held):
    ids = client.send_batch(queue, [notes.payload()] * 20)
    start_worker(queue, "record", concurrency=2, prefetch=10)
    eventually(lambda: held(queue) == 0)
    assert sorted(line[1] for line in notes.lines) == ids


def test_async_handlers_share_a_process(client, queue, notes, start_worker, held):
    client.send_batch(queue, [notes.payload()] * 5)
    worker = start_worker(queue, "wait_async", concurrency=5)
    began = eventually(lambda: len(notes.said("began")) == 5 and notes.said("began"))
    assert len({line[3] for line in began}) == 1
    notes.open_gate()
    eventually(lambda: held(queue) == 0)
    assert len(worker.children()) == 1


def test_tasks_per_process_runs_plain_handlers_on_threads(client, queue, notes, start_worker):
    client.send_batch(queue, [notes.payload()] * 3)
    start_worker(queue, "wait_for_gate", concurrency=3, tasks_per_process=3)
    began = eventually(lambda: len(notes.said("began")) == 3 and notes.said("began"))
    assert len({line[3] for line in began}) == 1


def test_two_workers_share_a_queue_without_duplicates(client, queue, notes, start_worker, held):
    ids = client.send_batch(queue, [notes.payload()] * 20)
    for _ in range(2):
        start_worker(queue, "wait_async", concurrency=5, prefetch=5)
    began = eventually(lambda: len(notes.said("began")) == 10 and notes.said("began"))
    assert len({line[3] for line in began}) == 2
    notes.open_gate()
    eventually(lambda: held(queue) == 0)
    assert sorted(line[1] for line in notes.said("ended")) == ids
    assert {line[2] for line in notes.lines} == {1}


class TestFailures:
    def test_poison_becomes_a_dead_letter_with_its_stack(self, client, make_queue, notes, start_worker, dead_letter):
        queue = make_queue(max_receives=2, backoff_base_seconds=0.1)
        message_id = client.send(queue, notes.payload(customer=7))
        start_worker(queue, "poison")
        reason, error_class, error, details, receive_count = eventually(lambda: dead_letter(message_id))
        assert (reason, error_class, receive_count) == ("runtime_error", "KeyError", 2)
        assert "no such customer" in error
        assert details.startswith("Traceback")
        assert 'handlers.py", line' in details
        assert "runners.py" not in details

    def test_reject_dies_at_once_with_the_cause(self, client, queue, notes, start_worker, dead_letter):
        message_id = client.send(queue, notes.payload())
        start_worker(queue, "reject")
        reason, error_class, error, details, receive_count = eventually(lambda: dead_letter(message_id))
        assert (reason, error_class, error, receive_count) == ("rejected", "KeyError", "cannot ever succeed", 1)
        assert "no such customer" in details

    def test_retry_comes_back_after_its_own_delay(self, client, queue, notes, start_worker, held, failures):
        message_id = client.send(queue, notes.payload())
        start_worker(queue, "retry_once")
        eventually(lambda: held(queue) == 0)
        assert [line[2] for line in notes.lines] == [1, 2]
        ((reason, error_class, error, _),) = failures(message_id)
        assert (reason, error_class, error) == ("runtime_error", "signalbox.worker.Retry", "not yet")

    @pytest.mark.parametrize(("handler", "how"), [("leave", "exited with status 3"), ("die", "was killed by signal 9")])
    def test_a_dying_process_is_a_failure(self, client, queue, notes, start_worker, failures, handler, how):
        message_id = client.send(queue, notes.payload())
        worker = start_worker(queue, handler)
        ((reason, error_class, error, _),) = eventually(lambda: failures(message_id))
        assert (reason, error_class) == ("runtime_error", "ProcessDied")
        assert how in error
        assert worker.process.poll() is None

    def test_a_forgotten_async_def_is_not_taken_for_success(self, client, queue, notes, start_worker, failures):
        message_id = client.send(queue, notes.payload())
        start_worker(queue, "coroutine_by_mistake")
        ((_, error_class, error, _),) = eventually(lambda: failures(message_id))
        assert error_class == "TypeError"
        assert "async def" in error


class TestTimeouts:
    def test_a_busy_loop_is_really_stopped(self, client, queue, notes, start_worker, failures):
        message_id = client.send(queue, notes.payload())
        worker = start_worker(queue, "spin", task_timeout=1)
        pid = eventually(lambda: notes.said("began"))[0][3]
        ((reason, error_class, error, details),) = eventually(lambda: failures(message_id))
        assert (reason, error_class) == ("lock_expired", "TaskTimeout")
        assert "longer than 1 seconds" in error
        assert "in spin" in details
        eventually(lambda: gone(pid))
        assert worker.process.poll() is None

    def test_programs_the_handler_started_end_with_it(self, client, queue, notes, start_worker, failures):
        message_id = client.send(queue, notes.payload())
        start_worker(queue, "spin_with_child", task_timeout=1)
        program = eventually(lambda: notes.said("began")) and notes.path.with_suffix(".program")
        eventually(lambda: failures(message_id))
        eventually(lambda: gone(int(program.read_text())))

    def test_an_async_run_is_cancelled_and_others_go_on(self, client, queue, notes, start_worker, failures, held):
        message_id = client.send(queue, notes.payload(mood="obedient"))
        worker = start_worker(queue, "stubborn_or_not", task_timeout=0.5)
        ((reason, error_class, _, details),) = eventually(lambda: failures(message_id))
        assert (reason, error_class) == ("lock_expired", "TaskTimeout")
        assert "stubborn_or_not" in details
        assert {child.pid for child in worker.children()} == {notes.lines[0][3]}

    @pytest.mark.parametrize("mood", ["stubborn", "blocking"])
    def test_an_async_run_that_refuses_loses_lease_and_process(
        self, client, queue, notes, start_worker, failures, mood
    ):
        message_id = client.send(queue, notes.payload(mood=mood))
        worker = start_worker(queue, "stubborn_or_not", task_timeout=0.5, concurrency=2, cancel_grace=0.5)
        ((reason, error_class, _, details),) = eventually(lambda: failures(message_id))
        assert (reason, error_class) == ("lock_expired", "TaskTimeout")
        assert details
        eventually(lambda: gone(notes.lines[0][3]))
        assert worker.process.poll() is None


class TestLeases:
    def test_heartbeats_keep_the_lease_of_a_long_run(self, client, make_queue, notes, start_worker, held, lease):
        queue = make_queue(visibility_timeout_seconds=1)
        client.send(queue, notes.payload())
        start_worker(queue, "wait_for_gate")
        (first,) = eventually(lambda: notes.said("began"))
        taken, _ = lease(first[1])
        eventually(lambda: lease(first[1])[1] > taken + timedelta(seconds=3))
        assert client.receive(queue) == []
        notes.open_gate()
        eventually(lambda: held(queue) == 0)
        assert [line[1:3] for line in notes.said("ended")] == [first[1:3]]

    def test_a_run_whose_lease_is_lost_is_stopped(self, client, make_queue, notes, start_worker, dsn):
        queue = make_queue(visibility_timeout_seconds=1)
        client.send(queue, notes.payload())
        start_worker(queue, "spin")
        pid = eventually(lambda: notes.said("began"))[0][3]
        assert client.purge(queue, states=["leased"]) == 1
        eventually(lambda: gone(pid))

    def test_a_killed_workers_message_comes_back(self, client, make_queue, notes, start_worker, held):
        queue = make_queue(visibility_timeout_seconds=2)
        client.send(queue, notes.payload())
        worker = start_worker(queue, "spin")
        pid = eventually(lambda: notes.said("began"))[0][3]
        worker.process.kill()
        eventually(lambda: gone(pid))  # nobody would use what the orphan does
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

    def test_what_waits_and_what_does_not_finish_goes_back(self, client, queue, notes, start_worker, failures, held):
        ids = client.send_batch(queue, [notes.payload()] * 3)
        worker = start_worker(queue, "wait_for_gate", prefetch=2, stop_grace=0.5)
        pid = eventually(lambda: notes.said("began"))[0][3]
        worker.tell(signal.SIGTERM)
        assert worker.wait() == 0
        assert gone(pid)
        assert sorted(message.id for message in client.receive(queue, 10)) == ids
        assert [failures(message_id) for message_id in ids] == [[], [], []]

    def test_a_second_signal_stops_at_once(self, client, queue, notes, start_worker):
        client.send(queue, notes.payload())
        worker = start_worker(queue, "spin", stop_grace=600)
        eventually(lambda: notes.said("began"))
        worker.tell(signal.SIGTERM)
        eventually(lambda: "Stopping" in worker.log.read_text())
        worker.tell(signal.SIGTERM)
        assert worker.wait() == 0
        assert len(client.receive(queue)) == 1

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
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                " where application_name like 'signalbox %' and pid <> pg_backend_pid()"
            )
        notes.open_gate()
        eventually(lambda: held(queue) == 0)
        assert len(notes.said("ended")) == 2

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
                    "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                    " where application_name like 'signalbox %'"
                )
                notes.open_gate()
                eventually(lambda: "Could not ack" in worker.log.read_text())
            finally:
                elsewhere.execute(sql.SQL("alter database {} allow_connections true").format(name))
        eventually(lambda: held(queue) == 0)
        assert len(notes.said("began")) == 1

    def test_a_missing_queue_ends_the_worker(self, start_worker):
        worker = start_worker("nowhere", "record")
        assert worker.wait() == 1
        assert "nowhere" in worker.log.read_text()

    def test_a_missing_handler_ends_the_worker_with_its_reason(self, queue, start_worker):
        worker = start_worker(queue, "no_such_function")
        assert worker.wait() == 1
        assert "no_such_function" in worker.log.read_text()


def test_an_announcement_wakes_a_worker_that_hardly_polls(client, queue, notes, start_worker, connection, listening):
    start_worker(queue, "record", poll_interval=3600)
    eventually(listening)
    (since,) = connection.execute("select pg_current_snapshot()::text").fetchone()
    client.send(queue, notes.payload())
    connection.commit()
    connection.execute("select signalbox.announce(%s::pg_snapshot)", [since])
    connection.commit()
    eventually(lambda: notes.said("ran"))


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
