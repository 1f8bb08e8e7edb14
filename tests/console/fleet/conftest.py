"""Two cells for the console's tests."""

import pytest

from queues.fleet import readings
from tests.queues.fleet.conftest import cells as cells
from tests.queues.fleet.conftest import databases as databases


@pytest.fixture(autouse=True)
def fresh_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every page asks every cell again, however short ago the last one did."""
    monkeypatch.setattr(readings, "FRESH_SECONDS", 0.0)
    readings.forget()
