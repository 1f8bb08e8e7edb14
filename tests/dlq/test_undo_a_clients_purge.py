"""What a client purges is in the trash, listed among the purges, and put back by an undo."""

from __future__ import annotations

import pytest

from dlq import trash, undo
from dlq.models import Purge
from queues.models import AuditEvent, Removal
from signalbox import Client
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")


def purges(engine: Engine) -> list[Purge]:
    return list(Purge.objects.filter(queue_name=engine.queue).order_by("purge_id"))


def rows(engine: Engine) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(queue_name=engine.queue, action="queue.purge"))


def test_a_purge_in_steps_is_one_and_can_be_undone(engine: Engine) -> None:
    client = Client(engine.connection)
    client.send_batch(engine.queue, list(range(5)))

    assert [client.purge(engine.queue, max_messages=3) for _ in range(3)] == [3, 2, 0]

    [job] = purges(engine)
    [row] = rows(engine)
    assert (job.state, job.purged, job.trash_hours) == ("done", 5, 24)
    assert (job.created_by, row.actor, row.details["purge_id"]) == (row.actor, job.created_by, job.purge_id)
    heap = trash.heap_of(job)
    assert heap is not None
    assert heap.removal.left == 5
    assert [found.job for found in trash.heaps() if found.job.removal_id == job.removal_id] == [job]

    done = undo.create("purge", job.purge_id, actor="ana", reason="")
    undo.run_in_foreground(done.undo_id)
    assert len(client.receive(engine.queue, 10)) == 5


def test_nothing_purged_leaves_nothing_behind(engine: Engine) -> None:
    before = Removal.objects.count()

    assert Client(engine.connection).purge(engine.queue) == 0

    assert (purges(engine), rows(engine), Removal.objects.count()) == ([], [], before)


def test_with_no_time_to_keep_it_goes_for_good(engine: Engine) -> None:
    client = Client(engine.connection)
    client.send(engine.queue, 1)

    assert client.purge(engine.queue, keep_seconds=0) == 1

    assert purges(engine) == []
    assert [row.details["messages"] for row in rows(engine)] == [1]
