"""Chaos by a fixed seed: all promises hold, whatever is killed, stopped or cut off.

The long run is `make chaos`. A failure prints its seed, and `python -m tests.chaos` repeats its schedule.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.judging.verdict import CHARGES
from tests.chaos.server import PROJECT

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1500), pytest.mark.proof]

SEED = 8
FAULTS = 80
TAKEN_PLACE, KINDS = 60, 8
"""At least. Some faults find nothing to do: a connection that another fault has broken cannot dead-lock."""
PAUSE_SECONDS = 0.9


def test_whatever_is_killed_stopped_or_cut_off_nothing_is_lost_and_nothing_unexplained(
    tmp_path: Path,
) -> None:
    figures = tmp_path / "figures.json"
    options = [f"--seed={SEED}", f"--faults={FAULTS}", "--messages=0", f"--pause={PAUSE_SECONDS}"]

    ended = subprocess.run(
        [sys.executable, "-m", "tests.chaos", *options, f"--json={figures}"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )

    assert ended.returncode == 0, f"{ended.stderr[-8000:]}\n{ended.stdout[-8000:]}"
    found = json.loads(figures.read_text())
    assert {charge: found["charges"].get(charge, 0) for charge in CHARGES} == dict.fromkeys(CHARGES, 0)
    assert sum(found["faults"].values()) >= TAKEN_PLACE
    assert len(found["faults"]) >= KINDS
    assert found["figures"]["acknowledged"] > 0
    assert found["figures"]["stale receipts refused"] > 0
    assert found["duplicates"].keys() >= {"expiry", "nack"}
