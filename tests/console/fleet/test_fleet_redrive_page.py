"""A redrive over two cells from one console: planned with the form of any redrive, run and cancelled on one page."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from console.overview import standings
from dlq.redrives.fleet import parts
from dlq.redrives.fleet.models import FleetRedrive
from queues import fleet
from queues.control.queues import create_queue
from signalbox.fleet.map import partition_of
from tests.console.browsers import Browser
from tests.queues.fleet.conftest import Cells


@pytest.fixture
def queue(cells: Cells) -> str:
    """A queue on both cells, with one dead letter in each."""
    name = f"dead-{uuid.uuid4().hex[:8]}"
    create_queue(name, {"max_receives": 1})
    fleet.place(name, ["a", "b"], actor="test")
    with cells.client() as client:
        for at in range(2):
            client.send(name, 1, group_id=next(f"g-{n}" for n in range(400) if partition_of(f"g-{n}") // 32 == at))
        for message in client.receive(name, 2):
            client.nack(message, error="broken")
    standings.forget()
    return name


def test_one_form_plans_and_one_page_runs_the_redrive_of_every_cell(
    cells: Cells, queue: str, operator: Browser, viewer: Browser, settings: Any
) -> None:
    form = operator.see(f"/redrives/new?q=queue:{queue}")
    assert "In all cells of the fleet" in form.text
    planned = {"filter_text": f"queue:{queue}", "reason": "again", "all_cells": "on", "max_redrives": "3"}
    page = operator.post("/redrives/new", planned, follow=True)
    redrive = FleetRedrive.objects.latest("fleet_redrive_id")
    address = f"/fleet/redrives/{redrive.pk}"
    assert [row.split()[0] for row in operator.see(address).rows()] == ["a", "b"]
    assert page.status_code == 200

    assert "requires the operator role" in viewer.see(address).text
    assert viewer.post(f"{address}/run").status_code == 403

    settings.TYPED_CONFIRMATION_REDRIVE_ABOVE = 1
    assert operator.post(f"{address}/run").status_code == 422
    operator.post(f"{address}/run", {"confirmation": "redrive"})
    assert [part.state for part in parts.look(redrive)] == ["pending", "pending"]
    operator.post(f"{address}/pause")
    assert [part.state for part in parts.look(redrive)] == ["paused", "paused"]
    operator.post(f"{address}/resume")
    parts.run_in_foreground(redrive)
    done = operator.see(address)
    assert [row.split()[-6:-5] for row in done.rows()] == [["1"], ["1"]]
    assert "Redrive in all cells" not in done.text
    operator.post(f"{address}/cancel")
    assert "Nothing was changed" in operator.see(address).text
    assert f'href="{address}"' in operator.see("/redrives").html


def test_a_silent_cell_is_a_silent_part(cells: Cells, queue: str, operator: Browser) -> None:
    operator.post("/redrives/new", {"filter_text": f"queue:{queue}", "reason": "again", "all_cells": "on"})
    address = f"/fleet/redrives/{FleetRedrive.objects.latest('fleet_redrive_id').pk}"
    with cells.silent("b"):
        page = operator.post(f"{address}/run", follow=True)
        assert "b was not started" in page.content.decode()
        assert next(row for row in operator.see(address).rows() if "silent" in row).startswith("b")
    operator.post(f"{address}/cancel")
    assert operator.get("/fleet/redrives/999999").status_code == 404
