"""Batched acks: collected, sent in time, and nothing lost or doubled.

Where an ack must be seen waiting, it would wait for longer than any test does.
"""

from __future__ import annotations

import signal
from datetime import timedelta

import psycopg
import pytest

from tests.signalbox.worker.workers import eventually

FOR_EVER = 60.0


@pytest.fixture
def acked(dsn):
    """Acked messages of a queue: a list of message ids for each call."""

    def look(queue):
        with psycopg.connect(dsn) as connection:
            rows = connection.execute(
                "select message_ids from signalbox.settled join signalbox.queue using (queue_id)"
                " where name = %s and outcome = 'a'",
                [queue],
            ).fetchall()
        return [ids for (ids,) in rows]

    return look


def flat(calls):
    return sorted(message_id for call in calls for message_id in call)


def ran(notes, times):
    return eventually(lambda: len(notes.said("ran")) == times and notes.said("ran"))


class TestGathering:
    def test_every_message_is_acked_once_in_few_calls(self, client, queue, notes, start_worker, held, acked):
        ids = client.send_batch(queue, [notes.payload()] * 200)
        for _ in range(2):
            start_worker(queue, "record", prefetch=20, ack_delay=2)
        eventually(lambda: held(queue) == 0)
        assert flat(acked(queue)) == ids
        assert len(acked(queue)) < 50
        assert sorted(line[1] for line in notes.said("ran")) == ids

    @pytest.mark.proof
    def test_a_call_has_no_more_acks_than_it_may(self, client, queue, notes, start_worker, held, acked, connection):
        ids = client.send_batch(queue, [notes.payload()] * 50)
        connection.execute("lock table signalbox.settled in share mode")  # acks are collected while the lock is held
        start_worker(queue, "record", prefetch=50, ack_delay=1, ack_batch=10)
        ran(notes, times=50)
        connection.rollback()
        eventually(lambda: held(queue) == 0)
        assert flat(acked(queue)) == ids
        assert max(len(call) for call in acked(queue)) == 10

    @pytest.mark.proof
    def test_one_in_a_call_is_an_ack_for_each_message(self, client, queue, notes, start_worker, held, acked):
        ids = client.send_batch(queue, [notes.payload()] * 20)
        start_worker(queue, "record", prefetch=20, ack_batch=1)
        eventually(lambda: held(queue) == 0)
        assert sorted(acked(queue)) == [[message_id] for message_id in ids]

    @pytest.mark.parametrize("ack_delay", [0, 0.05])
    @pytest.mark.proof
    def test_the_last_ack_waits_for_no_other_message(self, client, queue, notes, start_worker, acked, ack_delay):
        message_id = client.send(queue, notes.payload())
        start_worker(queue, "record", ack_delay=ack_delay)
        eventually(lambda: acked(queue) == [[message_id]])

    @pytest.mark.proof
    def test_a_failure_waits_for_nothing(self, client, queue, notes, start_worker, failures):
        client.send(queue, notes.payload())
        message_id = client.send(queue, notes.payload(poisonous=True))
        start_worker(queue, "record_or_fail", ack_delay=FOR_EVER)
        eventually(lambda: failures(message_id), within=FOR_EVER - 5)

    @pytest.mark.proof
    def test_runs_do_not_go_far_ahead_of_acks(self, client, queue, notes, start_worker, lease, connection, held):
        ids = client.send_batch(queue, [notes.payload()] * 100)
        connection.execute("lock table signalbox.settled in share mode")
        start_worker(queue, "record", visibility_timeout=30, heartbeat=1, ack_batch=5, ack_delay=1)
        eventually(lambda: len(notes.said("ran")) > 5)
        seen = lease(ids[0])[1]
        eventually(lambda: lease(ids[0])[1] > seen + timedelta(seconds=3))  # time enough to run them all
        assert 5 < len(notes.said("ran")) < 20
        connection.rollback()
        eventually(lambda: held(queue) == 0)
        assert sorted(line[1] for line in notes.said("ran")) == ids


class TestWaitingAcks:
    def test_a_stop_tells_them(self, client, queue, notes, start_worker, acked):
        ids = client.send_batch(queue, [notes.payload()] * 5)
        worker = start_worker(queue, "record", prefetch=5, ack_delay=FOR_EVER)
        ran(notes, times=5)
        assert acked(queue) == []
        worker.tell(signal.SIGTERM)
        assert worker.wait() == 0
        assert flat(acked(queue)) == ids

    @pytest.mark.proof
    def test_a_stop_at_once_tells_them(self, client, queue, notes, start_worker, acked):
        first, stuck = client.send_batch(queue, [notes.payload(), notes.payload(poisonous=True)])
        worker = start_worker(queue, "record_or_spin", prefetch=2, ack_delay=FOR_EVER, stop_grace=600)
        eventually(lambda: notes.said("began"))
        worker.tell(signal.SIGTERM)
        eventually(lambda: "Stopping" in worker.log.read_text())
        worker.tell(signal.SIGTERM)
        assert worker.wait() == 0
        assert flat(acked(queue)) == [first]
        assert [message.id for message in client.receive(queue, 2)] == [stuck]

    def test_a_killed_worker_leaves_redeliveries_and_nothing_else(
        self, client, queue, notes, start_worker, acked, held, let_leases_end
    ):
        ids = client.send_batch(queue, [notes.payload()] * 4 + [notes.payload(deadly=True)])
        worker = start_worker(queue, "record_or_kill_worker", prefetch=5, ack_delay=FOR_EVER)
        assert worker.wait() == -signal.SIGKILL
        assert acked(queue) == []
        let_leases_end(queue)
        start_worker(queue, "record_or_kill_worker", prefetch=5)
        eventually(lambda: held(queue) == 0)
        assert sorted(line[1:3] for line in notes.said("ran")) == sorted(
            (message_id, receive_count) for message_id in ids for receive_count in (1, 2)
        )
        assert flat(acked(queue)) == ids

    @pytest.mark.proof
    def test_their_leases_go_on(self, client, queue, notes, start_worker, lease, acked):
        message_id = client.send(queue, notes.payload())
        worker = start_worker(queue, "record", visibility_timeout=30, heartbeat=1, ack_delay=FOR_EVER)
        ran(notes, times=1)
        taken, deadline = lease(message_id)
        eventually(lambda: lease(message_id)[1] > deadline + timedelta(seconds=2))
        assert lease(message_id)[0] == taken  # not received again
        worker.tell(signal.SIGTERM)
        assert worker.wait() == 0
        assert acked(queue) == [[message_id]]
        assert [line[1:3] for line in notes.said("ran")] == [(message_id, 1)]

    def test_one_that_is_refused_is_reported_and_the_others_hold(
        self, client, queue, notes, start_worker, acked, held, connection
    ):
        ids = client.send_batch(queue, [notes.payload()] * 3)
        worker = start_worker(queue, "record", prefetch=3, ack_delay=FOR_EVER)
        ran(notes, times=3)
        connection.execute("delete from signalbox.lease where message_id = %s", [ids[1]])
        connection.commit()
        worker.tell(signal.SIGTERM)
        assert worker.wait() == 0
        assert flat(acked(queue)) == [ids[0], ids[2]]
        log = worker.log.read_text()
        assert f"Message {ids[1]} was done, but its lease was no longer held" in log
        assert log.count("no longer held") == 1
