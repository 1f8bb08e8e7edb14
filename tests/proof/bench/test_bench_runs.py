"""The benchmark runs, on a size that says nothing about speed."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.client.senders import HABITS as SENDING_HABITS
from bench.client.workers import HABITS
from bench.over_http.load import WORKS
from bench.peers.installing import PEERS, PROGRAMS
from bench.pgmq import PGMQ
from bench.scenarios import SCENARIOS, SQL, TEXTBOOK
from bench.sqs.comparison import WORKS as SQS_WORKS
from tests.pipeline.spark_cluster import INTERPRETED
from tests.pipeline.spark_cluster import OPTIONS as OPTIONS_OF_SPARK

PROJECT = Path(__file__).parents[3]
OPTIONS = [
    "--growth",
    "--snapshot",
    "3",
    "--worker",
    "--sender",
    "--fairness",
    "--redrive",
    "--dead-letters",
    "--exporter",
    "--http",
    "--sqs",
    "--streams",
    "--pipeline",
    "1",
]
SQS_DOORS = ("SQS endpoint", "HTTP API", "moto's server")
TINY = ["--rounds", "1", "--scale", "0.004", "--settle", "0"]


@pytest.mark.timeout(1800)  # a server, a worker and every side, on a machine that may be busy
def test_the_benchmark_measures_every_scenario_and_option(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    command = [sys.executable, "-m", "bench", *TINY, *OPTIONS]
    command += ["--json", str(file)]
    spark = {"SPARK_OPTIONS": json.dumps(OPTIONS_OF_SPARK | INTERPRETED)}
    process = subprocess.run(command, cwd=PROJECT, env=os.environ | spark, capture_output=True, text=True, timeout=1700)
    assert process.returncode == 0, process.stderr

    report = json.loads(file.read_text())
    for looks in (scenarios, workers, jobs, pages, over_http, over_sqs, streams, pipeline):
        looks(report, process.stdout)


def over_sqs(report: Any, printed: str) -> None:
    works = report["sqs"]["works"]
    assert {(row["work"], row["door"]) for row in works} == set(itertools.product(SQS_WORKS, SQS_DOORS))
    assert all(row["messages_per_second"] > 0 and row["p99_ms"] > 0 for row in works)
    assert {(row["door"], row["polls"]) for row in report["sqs"]["polls"]} == {(door, 10) for door in SQS_DOORS[:2]}
    assert "10 polls, SQS endpoint" in printed


def scenarios(report: Any, printed: str) -> None:
    sections = report["sections"]
    measured = {row["scenario"] for rows in sections.values() for row in rows}
    assert {scenario.name for scenario in SCENARIOS} < measured
    assert {"4,000 waiting", "last third"} < measured
    for row in itertools.chain.from_iterable(sections.values()):
        assert row["messages_per_second"] > 0
        assert row["wal_bytes"] > 0
        assert f"{row['side']} " in printed
    assert [waits["messages"] for waits in report["fairness"]] == [100] * 4


def workers(report: Any, printed: str) -> None:
    assert [row["worker"] for row in report["worker"]] == [habit.name for habit in HABITS]
    for row in report["worker"]:
        assert row["messages_per_second"] > 0
        assert row["worker_cpu_us"] > 0
        assert f"{row['worker']} " in printed
    alone, ahead, gathered = (row["messages_per_ack"] for row in report["worker"])
    assert alone == ahead == 1
    assert gathered > 1
    assert [row["sender"] for row in report["sender"]] == list(SENDING_HABITS)
    for row in report["sender"]:
        assert row["messages_per_second"] > 0
        assert f"{row['sender']} " in printed


def jobs(report: Any, printed: str) -> None:
    [redrive] = report["redrives"]
    assert redrive["messages_per_second"] > 0
    assert redrive["wal_bytes"] > 0
    assert "redrive of 1,000 " in printed


def pages(report: Any, printed: str) -> None:
    assert len(report["dead_letters"]) == 8
    for page in report["dead_letters"]:
        assert page["letters"] == 20_000
        assert 0 < page["median_ms"] <= page["p95_ms"]
        assert f"{page['page']} " in printed
    assert [times["queues"] for times in report["exporter"]] == [1, 2, 4, 40]
    for times in report["exporter"]:
        assert times["series"] > 60 * times["queues"]
        assert times["clock_ms"] > 0
        assert f"{times['queues']} " in printed


def over_http(report: Any, printed: str) -> None:
    measured = report["http"]
    assert len(measured["works"]) == 2 * len(WORKS)
    for row in measured["works"]:
        assert row["requests_per_second"] > 0
        assert row["server_cpu_us"] >= 0  # clock ticks are coarse
        assert f"{row['endpoint']} " in printed
    assert 0 < measured["wake_ups"]["p50_ms"] <= measured["wake_ups"]["p95_ms"]
    assert measured["idle"]["polls"] == 10
    assert measured["idle"]["threads"] > 0


def streams(report: Any, printed: str) -> None:
    assert len(report["streams"]) == 6 + 6 + 3 + 4 + 4  # beside a queue, partitions, fed queues, captures, snapshot
    for row in report["streams"]:
        assert row["messages_per_second"] > 0
        assert f"{row['work']}, " in printed


def pipeline(report: Any, printed: str) -> None:
    moved = report["pipeline"]["moved"]
    assert {(row["work"], row["way"]) for row in moved} >= {
        ("archive", "ADBC + pyarrow"),
        ("archive", "Signalbox"),
        ("rollup", "Signalbox"),
    }
    for row in moved:
        assert row["work"] == "start" or row["rows"] >= 4_000
        assert row["peak_mb"] > 0
        assert row["work"] == "start" or f"{row['way']} " in printed
    assert report["pipeline"]["live"]
    for pair in report["pipeline"]["live"]:
        assert pair["alone"] > 0
        assert pair["beside"] > 0
    assert "while Spark starts" in printed
    assert "while it archives" in printed


def test_what_the_peers_need_is_said_before_anything_runs(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "bench", "--peers"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": str(tmp_path)},
    )
    assert process.returncode == 2
    assert "--peers needs node and npm" in process.stderr


def test_every_peer_has_a_program() -> None:
    assert {peer.program for peer in PEERS} <= {path.name for path in PROGRAMS.iterdir()}


def test_pgmq_has_every_step_that_is_compared() -> None:
    """Return the options without pgmq, whose SQL is fetched from PyPI on demand, and not here."""
    steps = {side.folder: {path.name for path in (SQL / side.folder).iterdir()} for side in (TEXTBOOK, PGMQ)}
    assert steps["pgmq"] == steps["textbook"] - {"steady.sql"}
