"""The benchmark runs and reports; what it measures is nobody's assertion."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> str:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=True).stdout


@pytest.mark.timeout(120)
def test_the_report_compares_every_work_with_the_textbook() -> None:
    rows = json.loads(bench("--rounds", "1", "--scale", "0.01", "--json"))["rows"]

    assert {row["scenario"] for row in rows} == {"send 1", "send 100", "drain 1", "drain 10", "drain 100"}
    assert {row["side"] for row in rows} == {"textbook", "signalbox", "signalbox, durable claims"}
    for row in rows:
        for figure in ("messages/s", "CPU us/message", "WAL bytes/message"):
            assert row[figure] > 0
            assert row[f"{figure} ratio"] > 0
        if row["side"] == "textbook":
            assert row["CPU us/message ratio"] == 1
