"""The end of a server: every process ends with it, in time, and the terminal gets no word from any of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from console.server.supervisor import STOP_SECONDS, Part, Supervisor

# A job worker waits for the program that it started in a session of its own, as the real one waits for a run of Spark.
WORKER = """
import signal, subprocess, sys
program = [sys.executable, "-c", "import sys, time; print('WARN Spark', file=sys.stderr, flush=True); time.sleep(600)"]
child = subprocess.Popen(program, start_new_session=True)
signal.signal(signal.SIGTERM, lambda *_: None)  # a warm shutdown: what runs may finish
print(child.pid, flush=True)
child.wait()
"""
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"


def run_until(tmp_path: Path, script: str, is_up: str) -> tuple[Supervisor, list[str]]:
    """Run one part until its log has these words, then stop, as Ctrl-C does."""
    said: list[str] = []
    log = tmp_path / "jobs.log"
    supervisor = Supervisor(
        [Part("jobs", [sys.executable, "-c", script])], os.environ, tmp_path, said.append, lambda: wait_for(log, is_up)
    )
    supervisor.stop()
    supervisor.run()
    return supervisor, said


def wait_for(log: Path, words: str) -> None:
    with subprocess.Popen(["tail", "-n", "+1", "-F", log], stdout=subprocess.PIPE, text=True) as tail:
        assert tail.stdout is not None
        for line in tail.stdout:
            if words in line:
                tail.kill()


def test_a_worker_that_waits_for_spark_ends_in_time(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    supervisor, said = run_until(tmp_path, WORKER, "WARN Spark")

    (part,) = supervisor.parts
    written = (tmp_path / "jobs.log").read_text()
    child = next(int(line) for line in written.splitlines() if line.isdigit())
    assert part.process is not None
    assert part.process.returncode == 0, "the worker ended by itself"
    assert not psutil.pid_exists(child)
    assert "is killed" not in written
    assert said == []
    assert capfd.readouterr() == ("", "")  # what Spark says is in the log


def test_only_the_log_names_a_part_that_had_to_be_killed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.server.supervisor.STOP_SECONDS", STOP_SECONDS / 16)

    supervisor, said = run_until(tmp_path, DEAF, "deaf")

    (part,) = supervisor.parts
    assert part.process is not None
    assert part.process.returncode == -9
    assert "is killed" in (tmp_path / "jobs.log").read_text()
    assert said == []
    assert capfd.readouterr() == ("", "")
