"""Alerts about cells: the home watches every other cell, and one cell alone reads nothing."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from psycopg.conninfo import make_conninfo

from metrics.alerts.evaluating import findings_of_installation
from metrics.reading.cells import Cells, read_cells
from queues import fleet
from queues.control.queues import create_queue
from queues.counters.queue_numbers import read_numbers
from queues.database.query import fetch
from tests.queues.fleet.conftest import Cells as Scene


def descriptions() -> dict[str, str]:
    found = findings_of_installation(datetime.now(UTC), read_cells(read_numbers()))
    return {finding.rule.name: finding.description for finding in found}


def test_a_silent_cell_an_old_copy_and_a_move_without_a_runner_are_found(cells: Scene) -> None:
    assert read_cells([]) == Cells(), "no queue is placed: no cell is asked"
    create_queue(name := f"hot-{uuid.uuid4().hex[:8]}")
    fleet.place(name, ["a", "b"], actor="test")
    assert read_cells(read_numbers()).answers == {"b": True}
    [move] = fleet.start(name, range(4), "b", actor="test")
    fetch(
        "update signalbox.fleet_move set started_at = now() - interval '10 minutes' where move_id = %s returning 1",
        [move.move_id],
    )
    found = descriptions()
    assert found["SignalboxDirectoryStale"] == "The copy of the directory in b lacks 1 change."
    assert found["SignalboxMoveStuck"].startswith("No runner has taken a move further for 10 m")
    assert "SignalboxCellSilent" not in found
    fetch("update signalbox.fleet_cell set url = %s where name = 'b' returning 1", [make_conninfo(cells.b, port="1")])
    try:
        assert descriptions()["SignalboxCellSilent"] == "b: no answer. Messages in it wait."
    finally:
        fetch("update signalbox.fleet_cell set url = %s where name = 'b' returning 1", [cells.b])
        fleet.cancel(move.move_id, actor="test")
