"""`--once`: a message whose worker is killed between the commit and the ack takes effect once."""

from __future__ import annotations

import psycopg
import pytest

from tests.signalbox.worker.workers import eventually, gone


@pytest.mark.proof
def test_a_worker_killed_after_the_commit_and_before_the_ack(
    client, queue, notes, start_worker, held, let_leases_end, dsn
):
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("create table if not exists booked (message_id bigint not null)")
        message_id = client.send(queue, notes.payload())
        worker = start_worker(queue, "book", once=True, ack_delay=60)
        pid = eventually(lambda: notes.said("booked"))[0][3]
        count = "select count(*) from booked where message_id = %s"
        eventually(lambda: connection.execute(count, [message_id]).fetchone() == (1,))
        worker.process.kill()
        eventually(lambda: gone(pid))
        assert held(queue) == 1
        let_leases_end(queue)

        start_worker(queue, "book", once=True)
        eventually(lambda: held(queue) == 0)

        assert len(notes.said("booked")) == 1
        assert connection.execute(count, [message_id]).fetchone() == (1,)
        assert client.message_outcome(message_id).outcome == "acked"
