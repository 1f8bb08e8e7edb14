"""A redrive over two cells: one command plans, runs and changes it, and a silent cell does not hold the other up."""

from __future__ import annotations

import json
import uuid
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from dlq.redrives import outcomes, plans, redrives
from dlq.redrives.fleet import parts
from dlq.search.checked_filter import check_filter
from queues import fleet
from queues.control.queues import create_queue
from queues.database.query import fetch
from queues.errors import QueueNotFound
from queues.fleet.cells import visiting
from signalbox.fleet.map import partition_of
from tests.queues.fleet.conftest import Cells

KEYS = {
    cell: next(f"key-{n}" for n in range(400) if partition_of(f"key-{n}") // 32 == at) for at, cell in enumerate("ab")
}
DEAD = {"a": 2, "b": 3}


@pytest.fixture
def queue(cells: Cells) -> str:
    """A queue on both cells, with dead letters in each."""
    name = f"dead-{uuid.uuid4().hex[:8]}"
    create_queue(name, {"max_receives": 1})
    fleet.place(name, ["a", "b"], actor="test")
    with cells.client() as client:
        for cell, count in DEAD.items():
            client.send_batch(name, list(range(count)), group_ids=[KEYS[cell]] * count)
        for message in client.receive(name, sum(DEAD.values())):
            assert client.nack(message, error="broken") == "dead"
    return name


def redrive(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("redrive", *arguments, "--cells", "--json", stdout=out)
    return json.loads(out.getvalue())


def numbers(answer: dict[str, Any]) -> dict[str, tuple[str, int | None]]:
    return {part["cell"]: (part["state"], (part["redrive"] or {}).get("moved")) for part in answer["parts"]}


def test_one_command_redrives_the_dead_letters_of_every_cell(
    cells: Cells, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "LOOK_SECONDS", 0.0)
    planned = redrive("plan", f"queue:{queue}", "--rate", "101", "--canary", "0", "--reason", "the partner is back")
    assert {part["cell"]: part["count"] for part in planned["parts"]} == DEAD
    number = str(planned["id"])
    run = redrive("run", number, "--wait")
    assert numbers(run) == {"a": ("done", 2), "b": ("done", 3)}
    assert {part["redrive"]["rate_per_second"] for part in run["parts"]} == {51}
    assert numbers(redrive("run", number, "--wait")) == numbers(run), "what is done is not run again"
    with cells.client() as client:
        assert all(client.ack_batch(client.receive(queue, 10)).values())
    shown = redrive("show", number)
    assert {part["cell"]: part["redrive"]["outcomes"]["succeeded"] for part in shown["parts"]} == DEAD
    [(actions,)] = fetch(
        "select array_agg(action order by audit_event_id) from signalbox.audit_event"
        " where details ->> 'fleet_redrive_id' = %s",
        [number],
    )
    assert actions == ["fleet_redrive.plan", "fleet_redrive.run", "fleet_redrive.run"]


def test_parts_wait_for_their_cells_and_are_paused_and_cancelled_together(cells: Cells, queue: str) -> None:
    number = str(redrive("plan", f"queue:{queue}")["id"])
    with pytest.raises(CommandError, match="a planned, b planned"):
        redrive("pause", number)
    assert numbers(redrive("run", number)) == {"a": ("pending", 0), "b": ("pending", 0)}
    assert numbers(redrive("pause", number)) == {"a": ("paused", 0), "b": ("paused", 0)}
    assert numbers(redrive("resume", number)) == {"a": ("pending", 0), "b": ("pending", 0)}
    assert numbers(redrive("cancel", number)) == {"a": ("cancelled", 0), "b": ("cancelled", 0)}
    with pytest.raises(CommandError, match="there is no redrive over cells"):
        redrive("show", "999999")


def test_a_silent_cell_is_named_and_its_part_is_run_later(cells: Cells, queue: str) -> None:
    made = parts.make(check_filter(f"queue:{queue}"), actor="ann", reason="", options=plans.Options())
    with cells.silent("b"):
        assert [(part.cell, part.state) for part in parts.run(made, actor="ann")] == [("a", "pending"), ("b", "silent")]
        [here, silent] = parts.run_in_foreground(made)
        assert (here.state, silent.state, bool(silent.error)) == ("done", "silent", True)
        without = parts.make(check_filter(f"queue:{queue}"), actor="ann", reason="", options=plans.Options())
        assert ([*without.plans], [*without.left_out]) == ([], ["b"]), "a has none left"
    parts.run(made, actor="ann")
    assert [part.state for part in parts.run_in_foreground(made)] == ["done", "done"]


def test_a_run_that_was_killed_between_cells_is_completed(cells: Cells, queue: str) -> None:
    made = parts.make(check_filter(f"queue:{queue}"), actor="ann", reason="", options=plans.Options())
    with visiting(fleet.get_cell("b")):
        first = redrives.run(made.plans["b"], actor="ann", wake=False)
    assert [part.job.pk for part in parts.run(made, actor="ann", wake=False) if part.job and part.cell == "b"] == [
        first.pk
    ]
    assert [part.state for part in parts.run_in_foreground(made)] == ["done", "done"]


def test_dead_letters_of_a_part_that_moved_away_stay(cells: Cells, queue: str) -> None:
    """No consumer asks the old cell, and the new one has the later messages of the group."""
    [move] = fleet.start(queue, range(32), "b", actor="test")
    assert fleet.advance(move.move_id).state == "done"
    made = parts.make(check_filter(f"queue:{queue}"), actor="ann", reason="", options=plans.Options())
    parts.run(made, actor="ann", wake=False)
    [a, b] = [part.job for part in parts.run_in_foreground(made)]
    assert a is not None
    assert b is not None
    assert (a.moved, a.skipped_why, b.moved) == (0, {"elsewhere": 2}, 3)

    fleet.advance(fleet.start(queue, range(32), "a", actor="test")[0].move_id)
    again = parts.make(check_filter(f"queue:{queue}"), actor="ann", reason="", options=plans.Options())
    parts.run(again, actor="ann", wake=False)
    parts.run_in_foreground(again)
    with cells.client() as client:
        assert len(client.receive(queue, 10)) == 5, "they went out after the part had come back"


def test_a_refusal_of_every_cell_is_the_refusal_of_the_plan(cells: Cells, queue: str) -> None:
    with pytest.raises(QueueNotFound, match="no-such-queue"):
        parts.make(
            check_filter(f"queue:{queue}"), actor="ann", reason="", options=plans.Options(target_queue="no-such-queue")
        )


def test_a_visit_leaves_no_trace_and_is_refused_in_a_transaction(cells: Cells) -> None:
    before = connection.settings_dict
    with visiting(fleet.get_cell("b")):
        assert fleet.get_directory().cell == "b"
    assert (fleet.get_directory().cell, connection.settings_dict) == ("a", before)
    with transaction.atomic(), pytest.raises(RuntimeError), visiting(fleet.get_cell("b")):
        pass
