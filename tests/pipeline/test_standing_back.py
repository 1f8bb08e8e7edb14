"""A process of the pipeline has a low priority, whoever starts it, and ends with whoever asked for that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.dlq.processes import PROJECT, environment

COMMAND = """
import os, sys
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "pipeline", "runs", "--json"])
print(os.nice(0), os.sched_getscheduler(0) == os.SCHED_IDLE if hasattr(os, "SCHED_IDLE") else True)
print(open("/proc/self/autogroup").read() if os.path.exists("/proc/self/autogroup") else "")
"""
WAIT = "import threading; from pipeline.standing_back import end_with_input; end_with_input(); threading.Event().wait()"


@pytest.mark.parametrize("own", [True, False])
def test_a_command_takes_what_others_leave(dsn: str, own: bool) -> None:
    words, group = ran(dsn, own, "idle")

    assert words == "19 True"
    assert group.endswith(" nice 19") == (own and bool(group))


def test_a_command_may_have_its_share(dsn: str) -> None:
    words, group = ran(dsn, True, "normal")

    assert words == f"{os.nice(0)} False"
    assert not group.endswith(" nice 19")


def ran(dsn: str, own: bool, priority: str) -> list[str]:
    """What a command with a session of its own, or in ours, says of itself."""
    given = {"DJANGO_SETTINGS_MODULE": "console.settings", "PIPELINE_PRIORITY": priority}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND],
        cwd=PROJECT, env=environment(dsn) | given, capture_output=True, text=True, check=True, start_new_session=own,
    )  # fmt: skip
    return done.stdout.rstrip("\n").split("\n")[-2:]


def test_a_command_ends_with_the_process_that_holds_its_input() -> None:
    given = {"cwd": PROJECT, "env": {**os.environ, "PYTHONPATH": str(PROJECT)}, "stdin": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", WAIT], **given) as process:
        assert process.stdin is not None
        process.stdin.write(b"words are no end")
        process.stdin.close()

        assert process.wait(60) == -signal.SIGTERM
