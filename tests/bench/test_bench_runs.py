"""The benchmark runs, on a size that says nothing about speed."""

import json
import subprocess
import sys
from pathlib import Path

from bench.scenarios import SCENARIOS

PROJECT = Path(__file__).parents[2]
TINY = ["--rounds", "1", "--scale", "0.004", "--settle", "0"]


def test_the_benchmark_measures_every_scenario_and_option(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    command = [sys.executable, "-m", "bench", *TINY, "--growth", "--snapshot", "3", "--json", str(file)]
    process = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr

    sections = json.loads(file.read_text())["sections"]
    measured = {row["scenario"] for rows in sections.values() for row in rows}
    assert {scenario.name for scenario in SCENARIOS} < measured
    assert {"4,000 waiting", "last third"} < measured
    for rows in sections.values():
        for row in rows:
            assert row["messages_per_second"] > 0
            assert row["wal_bytes"] > 0
            assert f"{row['side']} " in process.stdout
