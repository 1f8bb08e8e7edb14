"""A queue on two cells: where its messages go, who refuses them, and what a queue on one cell pays for that."""

from __future__ import annotations

import asyncio
import json
import uuid
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from psycopg.types.json import Jsonb

import signalbox
from queues import fleet
from queues.control.queues import create_queue
from queues.errors import InvalidArgument
from queues.fleet import readings
from signalbox.fleet.map import partition_of
from signalbox.worker import Worker
from tests.queues.fleet.conftest import Cells
from tests.signalbox.worker.handlers import record, wait_for_gate
from tests.signalbox.worker.workers import PATIENCE, Notes

KEYS = {
    cell: [f"key-{n}" for n in range(400) if partition_of(f"key-{n}") // 32 == at][:40] for at, cell in enumerate("ab")
}
"""Keys of the partitions of each cell, where a queue is dealt to a and b."""


def placed(*names: str, **settings: Any) -> str:
    queue = f"placed-{uuid.uuid4().hex[:8]}"
    create_queue(queue, settings)
    assert [(move.state, move.problem) for move in fleet.place(queue, names, actor="test")] in ([], [("done", "")])
    return queue


def ready(cells: Cells, cell: str, queue: str) -> int:
    with cells.connect(cell) as connection:
        return signalbox.Client(connection).describe_queue(queue).messages["ready"]


def unsettled(cells: Cells, cell: str, queue: str) -> int:
    with cells.connect(cell) as connection:
        return sum(signalbox.Client(connection).describe_queue(queue).messages.values())


def raw_send(connection: psycopg.Connection[Any], queue: str, **options: Any) -> None:
    names = "".join(f", {name} => %s" for name in options)
    connection.execute(f"select signalbox.send(%s, %s{names})", [queue, Jsonb(1), *options.values()])


def test_messages_go_to_the_cell_of_their_key_and_come_back_from_both(cells: Cells) -> None:
    queue = placed("a", "b")
    with cells.client() as client:
        client.send_batch(queue, KEYS["a"] + KEYS["b"], group_ids=KEYS["a"] + KEYS["b"])
        client.send(queue, "by its deduplication id", deduplication_id=KEYS["b"][0])

        assert (ready(cells, "a", queue), ready(cells, "b", queue)) == (40, 41)
        received = client.receive(queue, 81)
        assert {message.receipt_handle[0] for message in received} == {"a", "b"}
        assert client.receive(queue) == []
        assert all(client.ack_batch(received[1:]).values())
        assert client.nack(received[0], delay_seconds=0) == "retry"
        [again] = client.receive(queue, wait_seconds=5)
        assert client.change_visibility(again, 60) is not None
        assert client.ack(again)
        assert not client.ack(again), "the lease has ended"


def test_an_asyncio_client_does_the_same(cells: Cells) -> None:
    queue = placed("a", "b")

    async def both() -> list[str]:
        async with signalbox.connect_async("signalbox-fleet" + _as_url(cells.a)) as client:
            await client.send_batch(queue, ["a", "b"], group_ids=[KEYS["a"][0], KEYS["b"][0]])
            messages = await client.receive(queue, 2)
            await client.ack_batch(messages)
            return sorted(message.payload for message in messages)

    assert asyncio.run(both()) == ["a", "b"]


def _as_url(dsn: str) -> str:
    parts = psycopg.conninfo.conninfo_to_dict(dsn)
    return f"://{parts.pop('user', '')}@/{parts.pop('dbname')}?host={parts['host']}&port={parts.get('port', 5432)}"


@pytest.mark.parametrize("options", [{"group_id": KEYS["a"][0]}, {"deduplication_id": KEYS["a"][0]}])
def test_a_cell_refuses_what_another_takes(cells: Cells, options: dict[str, str]) -> None:
    queue = placed("a", "b")
    with cells.connect("b") as b:
        with pytest.raises(signalbox.Moved) as refused:
            signalbox.Client(b).send(queue, 1, **options)
        with pytest.raises(signalbox.Moved):
            signalbox.Client(b).send_batch(
                queue, [1, 2], **{f"{name}s": [KEYS["b"][0], value] for name, value in options.items()}
            )
        [sent, moved] = signalbox.Client(b).send_each(queue, [(1, {"group_id": KEYS["b"][0]}), (2, options)])

    assert isinstance(sent, int)
    assert isinstance(moved, signalbox.Moved)
    assert (refused.value.cell, refused.value.partition) == ("a", partition_of(KEYS["a"][0]))
    assert refused.value.version == fleet.get_directory().version
    assert ready(cells, "b", queue) == 1


def test_a_cell_without_a_part_refuses_every_message(cells: Cells) -> None:
    queue = placed("b")
    with cells.connect("a") as a, pytest.raises(psycopg.DatabaseError) as refused:
        raw_send(a, queue)
    assert refused.value.sqlstate == "SB421"
    with cells.client() as client:
        client.send(queue, 1)
    assert ready(cells, "b", queue) == 1


def test_fifo_messages_without_a_group_are_one_group_of_one_cell(cells: Cells) -> None:
    queue = placed("b", "a", mode="fifo")
    with cells.client() as client:
        for number in range(10):
            client.send(queue, number, deduplication_id=str(number))
        got = [client.receive(queue) for _ in range(2)]
        assert [len(messages) for messages in got] == [1, 0], "the second waits for the first"
    assert partition_of("") // 32 == 0, "the cell b"
    with cells.connect("a") as a, pytest.raises(psycopg.DatabaseError):
        raw_send(a, queue, deduplication_id=KEYS["b"][0])


def test_an_old_map_costs_one_more_round_trip(cells: Cells) -> None:
    queue = placed("a", "b")
    with cells.client() as client:
        client.send(queue, 1, group_id=KEYS["a"][0])
        turned = fleet.placements(queue)
        _turn_around(cells, queue)

        client.send(queue, 2, group_id=KEYS["a"][0])
        client.send_batch(queue, [3, 4], group_ids=[KEYS["b"][0], KEYS["a"][1]])

    assert [placement.cell for placement in turned] == ["a", "b"]
    assert (ready(cells, "a", queue), ready(cells, "b", queue)) == (2, 2)


def test_an_older_copy_replaces_nothing(cells: Cells) -> None:
    queue = placed("a", "b")
    with cells.connect("a") as a, cells.connect("b") as b:
        before = a.execute("select signalbox._fleet_changes(0)::text").fetchone()
        _turn_around(cells, queue)
        newest = b.execute("select signalbox.fleet_map(%s)", [queue]).fetchone()
        b.execute("select signalbox._fleet_copy(%s::jsonb)", before)

        assert b.execute("select signalbox.fleet_map(%s)", [queue]).fetchone() == newest
        with pytest.raises(psycopg.DatabaseError):
            a.execute("select signalbox._fleet_copy(%s::jsonb)", before)


def _turn_around(cells: Cells, queue: str) -> None:
    """Exchange the cells of every partition of an empty queue, as a move would in more steps."""
    with cells.connect("a") as a, a.transaction():
        version = a.execute("select signalbox._next_version()").fetchone()[0]
        a.execute(
            "update signalbox.fleet_placement set cell = case cell when 'a' then 'b' else 'a' end, epoch = epoch + 1,"
            " version = %s where queue = %s",
            [version, queue],
        )
        a.execute("select signalbox._note_placement(array[%s])", [queue])
    assert [copy.version for copy in fleet.copy_to_all()] == [version]


def test_a_queue_on_one_cell_runs_the_statements_of_any_queue(cells: Cells) -> None:
    plain, alone = f"plain-{uuid.uuid4().hex[:8]}", placed("a")
    create_queue(plain)
    with cells.connect("a") as a:
        flags = a.execute(
            "select array_agg(admission_flags) from signalbox.queue where name = any(%s)", [[plain, alone]]
        ).fetchone()
        counted = [_reads(a, queue) for queue in (plain, alone)]

    assert flags == ([0, 0],)
    assert counted == [0, 0], "a send reads no table of the fleet"


def _reads(connection: psycopg.Connection[Any], queue: str) -> int:
    """Count the reads of the tables of the fleet by one transaction with a send of each kind."""
    with connection.transaction():
        for options in ({}, {"group_id": "g"}, {"deduplication_id": "d"}):
            raw_send(connection, queue, **options)
        connection.execute("select signalbox.send_batch(%s, %s, group_ids => %s)", [queue, [Jsonb(1)], ["g"]])
        connection.execute("select count(*) from signalbox.receive(%s, 10)", [queue])
        row = connection.execute(
            "select sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0)) from pg_stat_xact_user_tables"
            " where relname like 'fleet%%'"
        ).fetchone()
    return int(row[0])


def test_what_cannot_be_placed_is_refused(cells: Cells) -> None:
    used = placed("a")
    with pytest.raises(InvalidArgument, match="is placed already"):
        fleet.place(used, ["a"], actor="test")
    with pytest.raises(InvalidArgument, match="the fleet has a, b"):
        fleet.place(used, ["c"], actor="test")
    with pytest.raises(InvalidArgument, match="password"):
        fleet.add_cell("c", "postgresql://ada:secret@c/signalbox", actor="test")
    with pytest.raises(InvalidArgument, match="leads to the cell 'a'"):
        fleet.add_cell("c", cells.a, actor="test")
    with pytest.raises(InvalidArgument, match="leads to the cell 'b'"):
        fleet.add_cell("c", cells.b, actor="test")


def test_status_shows_a_silent_cell_beside_the_others(cells: Cells) -> None:
    queue = placed("a", "b")
    with cells.connect("a") as a:
        a.execute("select signalbox.fleet_add('gone', 'postgresql:///nowhere?host=/nowhere')")
    readings.forget()  # what a test before this one has read
    out = StringIO()
    call_command("fleet", "status", "--json", stdout=out)
    status = json.loads(out.getvalue())
    with cells.connect("a") as a:
        a.execute("delete from signalbox.fleet_cell where name = 'gone'")

    assert {cell["cell"]["name"]: cell["state"] for cell in status["cells"]} == {
        "a": "answers", "b": "answers", "gone": "silent"
    }  # fmt: skip
    assert {p["cell"]: len(p["partitions"]) for p in status["placements"] if p["queue"] == queue} == {"a": 32, "b": 32}


def test_a_worker_takes_from_every_cell(cells: Cells, tmp_path: Path) -> None:
    queue, notes = placed("a", "b"), Notes(tmp_path / "notes")
    with cells.client() as client:
        client.send_batch(queue, [notes.payload()] * 4, group_ids=[*KEYS["a"][:2], *KEYS["b"][:2]])

        async def work() -> None:
            worker = Worker("signalbox-fleet" + _as_url(cells.a), queue, record)
            serving = asyncio.create_task(worker.serve())
            while sum((client.describe_queue(queue).messages or {}).values()):
                await asyncio.sleep(0.05)
            worker.stop()
            await asyncio.wait_for(serving, PATIENCE)

        asyncio.run(work())
    assert len(notes.said("ran")) == 4


def test_a_silent_cell_delays_no_message_of_another(cells: Cells, tmp_path: Path) -> None:
    """The ack of a message of the silent cell waits, those of the other cell do not."""
    queue, notes = placed("a", "b"), Notes(tmp_path / "notes")

    async def settled(cell: str) -> None:
        while await asyncio.to_thread(unsettled, cells, cell, queue):
            await asyncio.sleep(0.05)

    async def work() -> None:
        worker = Worker("signalbox-fleet" + _as_url(cells.a), queue, wait_for_gate, concurrency=2)
        serving = asyncio.create_task(worker.serve())
        while len(notes.said("began")) < 2:
            await asyncio.sleep(0.05)
        with cells.silent("b"):
            notes.open_gate()
            with cells.connect("a") as a, signalbox.Client(a) as client:
                client.send_batch(queue, [notes.payload()] * 4, group_ids=KEYS["a"][:4])
            await settled("a")
        await settled("b")
        worker.stop()
        await serving

    with cells.client() as client:
        client.send_batch(queue, [notes.payload()] * 2, group_ids=[KEYS["a"][0], KEYS["b"][0]])
    asyncio.run(asyncio.wait_for(work(), PATIENCE))
    assert [count for _, _, count, _ in notes.said("ended")] == [1] * 6


def test_a_queue_on_several_cells_is_no_end_of_a_subscription(cells: Cells) -> None:
    queue, other = placed("a", "b"), placed("a")
    with cells.connect("a") as a, signalbox.Client(a) as client:
        for source, target in ((queue, other), (other, queue)):
            with pytest.raises(signalbox.InvalidArgument, match="several cells"):
                client.subscribe(source, target)
        client.create_stream(stream := f"stream-{uuid.uuid4().hex[:8]}")
        with pytest.raises(signalbox.InvalidArgument, match="several cells") as refused:
            client.create_group(stream, "feeds", queue=queue)
    assert refused.value.field == "queue"
