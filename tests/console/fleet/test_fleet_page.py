"""The page *Fleet* and the overview over two cells, of which one falls silent."""

from __future__ import annotations

import uuid

import pytest
from psycopg.conninfo import make_conninfo

from console.overview import standings
from queues import fleet
from queues.control.queues import create_queue
from queues.database.query import fetch
from queues.fleet import readings
from signalbox.fleet.map import partition_of
from tests.console.browsers import Browser
from tests.console.web.test_sidebar import ARCHIVE, MONITOR, OPERATE, labels, lit, open_groups
from tests.queues.fleet.conftest import Cells


@pytest.fixture
def queue(cells: Cells) -> str:
    """A queue on both cells, with two messages in each."""
    name = f"hot-{uuid.uuid4().hex[:8]}"
    create_queue(name)
    fleet.place(name, ["a", "b"], actor="test")
    with cells.client() as client:
        for number in range(4):
            key = next(k for k in range(100) if _cell_of(k) == "ab"[number % 2])
            client.send(name, number, group_id=f"group-{key}")
    standings.forget()
    return name


def _cell_of(number: int) -> str:
    return "ab"[partition_of(f"group-{number}") // 32]


def test_an_operator_of_a_fleet_sees_nine_lines_and_finds_the_fleet_beside_the_queues(
    cells: Cells, operator: Browser
) -> None:
    standings.forget()
    page, fleet_page = operator.see("/"), operator.see("/fleet")

    for seen in (page, fleet_page):
        assert labels(seen) == [*MONITOR, *OPERATE, *ARCHIVE]  # the archive is closed, so nine are in sight
        assert open_groups(seen) == []
        assert lit(seen) == ["Queues"]
    assert page.one("nav", class_="tabs").text == "Queues Fleet"
    assert page.link("Fleet") == "/fleet"
    assert "Fleet" in operator.see("/palette?q=fleet").text


def test_the_page_shows_cells_placements_moves_and_the_overview_adds_cells_up(
    cells: Cells, queue: str, viewer: Browser
) -> None:
    fleet.start(queue, range(0, 16, 2), "b", actor="test")
    page = viewer.see("/fleet")
    assert "2 of 2" in page.text
    assert f"{queue}: 0,2,4,6,8,10,12,14 from a to b" in page.text
    assert "preparing" in page.text
    assert "a: 32 partitions (0-31)" in page.text

    overview = viewer.see("/")
    [row] = [row for row in overview.rows() if queue in row]
    assert "a 2" in row
    assert "b 2" in row
    assert "All cells:" in overview.text
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


def test_a_cell_whose_statements_hang_is_silent(cells: Cells, queue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock for which the cell's reading waits stands for any wait: the server ends the statement."""
    monkeypatch.setattr(readings, "ANSWER_SECONDS", 60.0)  # a busy machine connects late
    monkeypatch.setattr(readings, "STATEMENT_MILLISECONDS", 200)
    with cells.connect("b") as other, other.transaction():
        other.execute("lock table signalbox.fleet_directory in access exclusive mode")
        by_name = {reading.cell.name: reading for reading in readings.read_fleet()}
    assert not by_name["a"].is_silent
    assert "statement timeout" in by_name["b"].error


def test_a_reading_ends_when_its_time_is_over_however_many_cells_are_silent(
    cells: Cells, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings, "ANSWER_SECONDS", 0.0)
    monkeypatch.setattr(readings, "STATEMENT_MILLISECONDS", 5_000)
    with cells.connect("b") as other, other.transaction():
        other.execute("lock table signalbox.fleet_directory in access exclusive mode")
        by_name = {reading.cell.name: reading for reading in readings.read_fleet()}
    assert by_name["b"].error == "no answer within 0 s"
