"""Workers as real processes: outcomes of messages, and the processes that run them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from signalbox.worker import Worker
from tests.signalbox.worker.handlers import record
from tests.signalbox.worker.workers import PATIENCE, eventually, gone


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

    def test_a_deferred_message_comes_back_without_a_failure(
        self, client, make_queue, notes, start_worker, held, failures
    ):
        queue = make_queue(max_receives=1)
        message_id = client.send(queue, notes.payload())
        start_worker(queue, "defer_twice")
        eventually(lambda: held(queue) == 0)
        assert [line[2] for line in notes.lines] == [1, 2, 3]
        assert failures(message_id) == []
        assert client.message_outcome(message_id).outcome == "acked"

    @pytest.mark.parametrize(("handler", "how"), [("leave", "exited with status 3"), ("die", "was killed by signal 9")])
    def test_a_dying_process_is_a_failure(self, client, queue, notes, start_worker, failures, handler, how):
        message_id = client.send(queue, notes.payload())
        worker = start_worker(queue, handler)
        (reason, error_class, error, _), *_ = eventually(lambda: failures(message_id))
        assert (reason, error_class) == ("runtime_error", "ProcessDied")
        assert how in error
        assert worker.process.poll() is None

    def test_a_forgotten_async_def_is_not_taken_for_success(self, client, queue, notes, start_worker, failures):
        message_id = client.send(queue, notes.payload())
        start_worker(queue, "coroutine_by_mistake")
        (_, error_class, error, _), *_ = eventually(lambda: failures(message_id))
        assert error_class == "TypeError"
        assert "async def" in error


class TestTimeouts:
    @pytest.mark.proof
    def test_a_busy_loop_is_really_stopped(self, client, queue, notes, start_worker, failures):
        message_id = client.send(queue, notes.payload())
        worker = start_worker(queue, "spin", task_timeout=6)
        pid = eventually(lambda: notes.said("began"))[0][3]
        (reason, error_class, error, details), *_ = eventually(lambda: failures(message_id))
        assert (reason, error_class) == ("lock_expired", "TaskTimeout")
        assert "longer than 6 seconds" in error
        assert "in spin" in details
        eventually(lambda: gone(pid))
        assert worker.process.poll() is None

    @pytest.mark.proof
    def test_programs_the_handler_started_end_with_it(self, client, queue, notes, start_worker, failures):
        message_id = client.send(queue, notes.payload())
        start_worker(queue, "spin_with_child", task_timeout=3)
        program = eventually(lambda: notes.said("began")) and notes.path.with_suffix(".program")
        eventually(lambda: failures(message_id))
        eventually(lambda: gone(int(program.read_text())))

    @pytest.mark.proof
    def test_an_async_run_is_cancelled_and_others_go_on(self, client, queue, notes, start_worker, failures, held):
        message_id = client.send(queue, notes.payload(mood="obedient"))
        worker = start_worker(queue, "stubborn_or_not", task_timeout=2, cancel_grace=60)
        (reason, error_class, _, details), *_ = eventually(lambda: failures(message_id))
        assert (reason, error_class) == ("lock_expired", "TaskTimeout")
        assert "stubborn_or_not" in details
        assert {child.pid for child in worker.children()} == {notes.lines[0][3]}

    @pytest.mark.proof
    @pytest.mark.parametrize("mood", ["stubborn", "blocking"])
    def test_an_async_run_that_refuses_loses_lease_and_process(
        self, client, queue, notes, start_worker, failures, mood
    ):
        message_id = client.send(queue, notes.payload(mood=mood))
        worker = start_worker(queue, "stubborn_or_not", task_timeout=2, concurrency=2, cancel_grace=2)
        (reason, error_class, _, details), *_ = eventually(lambda: failures(message_id))
        assert (reason, error_class) == ("lock_expired", "TaskTimeout")
        assert details
        eventually(lambda: gone(notes.lines[0][3]))
        assert worker.process.poll() is None


SCRIPT = """
import sys
from signalbox.worker import Worker

def handle(message):
    with open(message.payload["notes"], "a") as file:
        print("ran", message.id, message.receive_count, 0, file=file)

if __name__ == "__main__":
    Worker(sys.argv[1], sys.argv[2], handle).run()
"""


def test_a_script_runs_its_own_function(client, queue, notes, dsn, tmp_path, held):
    script = tmp_path / "orders.py"
    script.write_text(SCRIPT)
    client.send(queue, notes.payload())
    with subprocess.Popen(
        [sys.executable, script, dsn, queue], env=os.environ | {"PYTHONPATH": str(Path.cwd())}
    ) as process:
        eventually(lambda: held(queue) == 0)
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert len(notes.said("ran")) == 1


def test_a_worker_serves_inside_an_event_loop_and_stops_on_request(client, queue, notes, dsn, held):
    async def scenario():
        worker = Worker(dsn, queue, record, poll_interval=0.2)
        serving = asyncio.create_task(worker.serve())
        client.send(queue, notes.payload())
        while held(queue):
            await asyncio.sleep(0.02)
        worker.stop()
        await asyncio.wait_for(serving, PATIENCE)

    asyncio.run(scenario())
    assert len(notes.said("ran")) == 1
