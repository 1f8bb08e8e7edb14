"""The page *Fleet* and the overview over two cells, of which one falls silent; and nothing of it in one cell."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from psycopg.conninfo import make_conninfo

from console.overview import standings
from queues import fleet
from queues.control.queues import create_queue
from queues.database.query import fetch
from queues.fleet import readings
from tests.console.browsers import Browser
from tests.queues.fleet.conftest import Cells


@pytest.fixture
def queue(cells: Cells) -> str:
    """A queue on both cells, with two messages in each."""
    name = f"hot-{uuid.uuid4().hex[:8]}"
    create_queue(name, {"mode": "standard"})
    fleet.place(name, ["a", "b"], actor="test")
    with cells.client() as client:
        for number in range(4):
            key = next(k for k in range(100) if _cell_of(client, name, k) == "ab"[number % 2])
            client.send(name, number, group_id=f"group-{key}")
    standings.forget()
    return name


def _cell_of(client: object, queue: str, number: int) -> str:
    from signalbox.fleet.map import partition_of

    return "ab"[partition_of(f"group-{number}") % 2]


def test_the_page_shows_cells_placements_moves_and_the_overview_adds_cells_up(
    cells: Cells, queue: str, viewer: Browser
) -> None:
    fleet.start(queue, range(0, 16, 2), "b", actor="test")
    page = viewer.see("/fleet")
    assert "2 of 2" in page.text
    assert f"{queue}: 0,2,4,6,8,10,12,14 from a to b" in page.text
    assert "preparing" in page.text
    assert page.html.count("<rect class=") >= 64, "partitions are dealt to the cells in turn"

    overview = viewer.see("/")
    [row] = [row for row in overview.rows() if (row.startswith("healthy") and queue in row) or queue in row]
    assert "a 2" in row
    assert "b 2" in row
    assert "All cells: 4 waiting" in overview.text
    assert 'href="/fleet"' in overview.html


def test_a_silent_cell_is_shown_with_the_age_of_what_is_known_and_the_others_go_on(
    cells: Cells, queue: str, viewer: Browser
) -> None:
    assert "2 of 2" in viewer.see("/fleet").text
    fetch("update signalbox.fleet_cell set url = %s where name = 'b' returning 1", [make_conninfo(cells.b, port="1")])
    try:
        page = viewer.see("/fleet")
        overview = viewer.see("/")
    finally:
        fetch("update signalbox.fleet_cell set url = %s where name = 'b' returning 1", [cells.b])
    assert "1 of 2" in page.text
    assert "b is silent:" in page.text
    assert "Its numbers are" in page.text
    assert "Other cells go on." in page.text
    [row] = [row for row in overview.rows() if queue in row]
    assert "silent," in row
    assert "b silent" in overview.text


def test_a_cell_that_holds_the_connection_is_given_up_in_time(
    cells: Cells, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock that the cell's own reading waits for stands for any wait; the bound is the reading's, not the lock's."""
    monkeypatch.setattr(readings, "ANSWER_SECONDS", 0.3)
    with cells.connect("b") as other, other.transaction():
        other.execute("lock table signalbox.fleet_directory in access exclusive mode")
        by_name = {reading.cell.name: reading for reading in readings.read_fleet()}
    assert not by_name["a"].is_silent
    assert by_name["b"].error == "no answer within 0.3 s"


def test_one_cell_has_no_statement_and_no_word_of_a_fleet(viewer: Browser, make_engine: Callable[..., object]) -> None:
    make_engine()
    standings.forget()
    for address in ("/", "/dead-letters", "/streams"):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            page = viewer.see(address)
        assert not [query["sql"] for query in queries if "fleet" in query["sql"]]
        assert "fleet" not in page.html.lower().replace("fleet.js", ""), address
