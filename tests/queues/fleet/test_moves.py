"""A move of partitions loses nothing, sends nothing twice, and keeps the order of groups."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from psycopg.types.json import Jsonb

import signalbox
from queues import fleet
from queues.control.queues import create_queue
from queues.errors import InvalidArgument
from queues.fleet import moving, readings, rebalancing, reporting
from queues.fleet.readings import QueueInCell, Reading, read_fleet
from signalbox.fleet.map import partition_of
from tests.queues.fleet.conftest import Cells

FIRST = [name for name in (f"key-{number}" for number in range(400)) if partition_of(name) < 16][:4]
LAST = [name for name in (f"key-{number}" for number in range(400)) if partition_of(name) >= 16][:4]


@pytest.fixture
def queue(cells: Cells) -> str:
    """A FIFO queue, placed on the cell a."""
    name = f"moved-{uuid.uuid4().hex[:8]}"
    create_queue(name, {"mode": "fifo"})
    assert fleet.place(name, ["a"], actor="test") == []
    return name


@pytest.fixture
def direct(cells: Cells) -> Iterator[Callable[[str], signalbox.Client]]:
    """Make clients of single cells."""
    opened = []

    def open_client(cell: str) -> signalbox.Client:
        opened.append(signalbox.Client(getattr(cells, cell)))
        return opened[-1]

    yield open_client
    for client in opened:
        client.close()


def move(queue: str, cell: str = "b", partitions: range = range(16)) -> fleet.Move:
    [started] = fleet.start(queue, partitions, cell, actor="test")
    return fleet.advance(started.move_id)


def state_of(queue: str) -> dict[str, tuple[str, str]]:
    return {placement.ranges: (placement.cell, placement.state) for placement in fleet.placements(queue)}


def test_a_move_drains_the_old_cell_while_the_new_one_takes_sends(
    cells: Cells, queue: str, direct: Callable[[str], signalbox.Client]
) -> None:
    with cells.client() as client:
        for number in range(3):
            client.send(queue, number, group_id=FIRST[0])
        client.send(queue, "stays", group_id=LAST[0])
        held = client.receive(queue, 2)
        draining = move(queue)
        assert (draining.state, draining.messages, draining.messages_left) == ("draining", 3, 3)
        client.send(queue, 3, group_id=FIRST[0])
        client.send(queue, "new", group_id=FIRST[1])
        assert {message.payload for message in held} == {0, "stays"}

        new, old = direct("b").receive(queue, 10), direct("a").receive(queue, 10)
        assert ([message.payload for message in new], old) == ([], []), (
            "b waits for a, and a for the first of the group"
        )
        draining = fleet.advance(draining.move_id)
        assert [message.payload for message in direct("b").receive(queue, 10)] == ["new"], "a has none of this group"

        client.ack_batch(held)
        got = []
        while message := next(iter(client.receive(queue)), None):
            got.append(message.payload)
            client.ack(message)
            fleet.advance(draining.move_id)

    assert got == [1, 2, 3]
    assert fleet.get_move(draining.move_id).state == "done"
    assert state_of(queue) == {"0-15": ("b", "settled"), "16-63": ("a", "settled")}


def test_an_open_transaction_that_found_the_queue_open_is_waited_for(
    cells: Cells, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "CLOSING_SECONDS", 0.1)
    with cells.connect("a") as a:
        with a.transaction():
            a.execute("select signalbox.send(%s, %s, group_id => %s)", [queue, Jsonb("late"), FIRST[0]])
            stopped = move(queue)
            assert (stopped.state, stopped.paused) == ("preparing", True)
            assert "did not end within" in stopped.problem
            assert state_of(queue) == {"0-63": ("a", "settled")}
        a.execute("select signalbox.send(%s, %s, group_id => %s)", [queue, Jsonb("a takes it"), FIRST[1]])
        monkeypatch.undo()  # sessions of other tests have time to end
        fleet.pause(stopped.move_id, False, actor="test")
        assert fleet.advance(stopped.move_id).messages == 2, "it is in the count of what a still has"


def test_deduplication_ids_go_with_their_partition(cells: Cells, queue: str) -> None:
    with cells.client() as client:
        first = client.send(queue, 1, group_id=FIRST[0], deduplication_id="once")
        [message] = client.receive(queue)
        client.ack(message)
        done = move(queue)
        assert (done.state, done.keys) == ("done", 1)

        assert client.send(queue, 1, group_id=FIRST[0], deduplication_id="once") == first
        with pytest.raises(signalbox.DeduplicationConflict):
            client.send(queue, 2, group_id=FIRST[0], deduplication_id="once")
        assert client.receive(queue) == []


def test_a_receipt_of_before_the_move_settles_where_the_message_lies(cells: Cells, queue: str) -> None:
    with cells.client() as client:
        client.send(queue, 1, group_id=FIRST[0])
        [message] = client.receive(queue)
        move(queue)
        assert client.ack(message)
        with pytest.raises(InvalidArgument):
            client.ack(message.receipt_handle.replace("a/", "c/"))
        assert not client.ack(message.receipt_handle.replace("a/", "b/")), "worth nothing elsewhere"


def test_a_dead_letter_that_holds_its_group_holds_it_in_the_new_cell(
    cells: Cells, direct: Callable[[str], signalbox.Client]
) -> None:
    queue = f"moved-{uuid.uuid4().hex[:8]}"
    create_queue(queue, {"mode": "fifo", "fifo_block_on_dead_letter": True})
    fleet.place(queue, ["a"], actor="test")
    with cells.client() as client:
        client.send(queue, 1, group_id=FIRST[0])
        client.nack(client.receive(queue)[0], reason="rejected")
        draining = move(queue)
        client.send(queue, 2, group_id=FIRST[0])
        assert (fleet.advance(draining.move_id).messages_left, client.receive(queue)) == (1, [])
        with cells.connect("a") as a:
            a.execute("select signalbox.delete_dead_letters(array(select dead_letter_id from signalbox.dead_letter))")
        assert fleet.advance(draining.move_id).state == "done"
        assert [message.payload for message in client.receive(queue)] == [2]


def test_a_standard_queue_moves_what_has_a_key(cells: Cells) -> None:
    queue = f"moved-{uuid.uuid4().hex[:8]}"
    create_queue(queue)
    fleet.place(queue, ["a"], actor="test")
    with cells.client() as client:
        client.send_batch(queue, list(range(8)), group_ids=FIRST + LAST)
        client.send(queue, "no key")
        [impact] = fleet.impact(queue, range(16), "b")
        assert (impact.from_cell, impact.messages, impact.seconds) == ("a", 4, None)
        assert move(queue).messages_left == 4


def test_a_plan_says_when_the_last_scheduled_message_lets_the_old_cell_become_empty(cells: Cells) -> None:
    queue = f"moved-{uuid.uuid4().hex[:8]}"
    create_queue(queue)
    fleet.place(queue, ["a"], actor="test")
    with cells.client() as client:
        for group, delay in zip(FIRST[:2] + LAST[:1], (600, 60, 6_000), strict=True):
            client.send(queue, "later", group_id=group, delay_seconds=delay)
        client.send_batch(queue, ["held", "ready"], group_ids=FIRST[:2])
        client.receive(queue)
    [found] = fleet.impact(queue, range(16), "b")
    impact = replace(found, receives_per_second=1.0)
    assert (impact.messages, impact.in_flight, impact.scheduled) == (4, 1, 2)
    assert impact.due_seconds is not None
    assert 60 < impact.due_seconds <= 600, "the message of a part that stays does not count"
    assert impact.seconds == impact.due_seconds
    assert replace(impact, receives_per_second=0.001).seconds == 4_000
    assert replace(impact, receives_per_second=0.0).seconds is None
    told = reporting.of_impact([replace(impact, due_seconds=600.0)]).text
    assert told.startswith("a hands out 4 messages before it is empty (about 600 s at its present rate): 1 in flight, ")
    assert "2 scheduled, the last due in 600 s" in told


def test_a_move_can_be_paused_resumed_and_cancelled_before_the_new_cell_takes_sends(queue: str) -> None:
    [first] = fleet.start(queue, range(16), "b", actor="test")
    with pytest.raises(InvalidArgument, match=f"are in the move {first.move_id}"):
        fleet.start(queue, [0], "b", actor="test")
    fleet.pause(first.move_id, True, actor="test")
    assert fleet.advance(first.move_id).state == "preparing"
    assert fleet.cancel(first.move_id, actor="test").state == "cancelled"
    done = move(queue)
    with pytest.raises(InvalidArgument, match="is done"):
        fleet.cancel(done.move_id, actor="test")


def test_commands_print_documents(queue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queues.management.commands.fleet.on_signals", lambda *_: None)

    def run(*arguments: str) -> Any:
        out = StringIO()
        call_command("fleet", *arguments, "--json", stdout=out)
        return json.loads(out.getvalue())

    [part] = run("move", queue, "--partitions", "0-3,9", "--to", "b", "--dry-run")
    assert (part["partitions"], part["messages"]) == ([0, 1, 2, 3, 9], 0)
    [done] = run("move", queue, "--partitions", "0-3,9", "--to", "b", "--wait")
    assert (done["state"], done["ranges"]) == ("done", "0-3,9")
    assert done["move_id"] in [listed["move_id"] for listed in run("moves")]
    out = StringIO()
    call_command("fleet", "status", stdout=out)
    assert f"{queue}: 0-3,9 on b" in out.getvalue()
    with pytest.raises(InvalidArgument, match="from 0 to 63"):
        fleet.parsed("0-64")


@pytest.mark.parametrize("settings", [{"dedup_scope": "in_flight"}])
def test_a_queue_that_cannot_move_is_refused(cells: Cells, settings: dict[str, Any]) -> None:
    queue = f"moved-{uuid.uuid4().hex[:8]}"
    create_queue(queue, settings)
    with pytest.raises(InvalidArgument, match="cannot move"):
        fleet.place(queue, ["a"], actor="test")
    assert fleet.placements(queue) == []


def test_rebalance_proposes_moves_by_measured_load(queue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded(reading: Reading) -> Reading:
        held = [QueueInCell(queue, 0, 0, 0, 800.0, 800.0)] if reading.cell.name == "a" else []
        return replace(reading, answer=replace(reading.answer, queues=held)) if reading.answer else reading

    readings.forget()
    assert queue in next(reading for reading in read_fleet() if reading.cell.name == "a").by_queue
    monkeypatch.setattr(rebalancing, "read_fleet", lambda: [loaded(reading) for reading in read_fleet()])

    [proposed] = rebalancing.proposals()
    assert (proposed.queue, proposed.source, proposed.target) == (queue, "a", "b")
    assert (proposed.peak_before, proposed.peak_after < 1.1) == (2.0, True)
    [started] = rebalancing.rebalance([proposed], actor="test")
    assert started.partitions == proposed.partitions
    assert rebalancing.proposals() == [], "it moves already"


def test_purged_messages_of_a_part_that_moved_away_stay_in_the_trash(cells: Cells, queue: str) -> None:
    with cells.client() as client, cells.connect("a") as a:
        client.send_batch(queue, ["moves", "stays"], group_ids=[FIRST[0], LAST[0]])
        [(batch,)] = a.execute("select signalbox.open_trash_batch(3600)").fetchall()
        assert a.execute("select signalbox.purge(%s, trash_batch_id => %s)", [queue, batch]).fetchall() == [(2,)]
        assert move(queue).state == "done"
        restore = "select restored, skipped from signalbox.restore(%s)"
        assert a.execute(restore, [batch]).fetchall() == [(1, 1)]
        assert [message.payload for message in client.receive(queue, 5, wait_seconds=5)] == ["stays"]
        assert fleet.advance(move(queue, "a").move_id).state == "done"
        assert a.execute(restore, [batch]).fetchall() == [(1, 0)]
        assert [message.payload for message in client.receive(queue, 5, wait_seconds=5)] == ["moves"]
