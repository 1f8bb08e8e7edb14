"""Processes of the pipeline have a low priority, and end with their parent process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.dlq.processes import PROJECT, environment

COMMAND = """
import json, os
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "pipeline", "runs", "--json"])
idle = os.sched_getscheduler(0) == os.SCHED_IDLE if hasattr(os, "SCHED_IDLE") else True
group = open("/proc/self/autogroup").read() if os.path.exists("/proc/self/autogroup") else ""
print(json.dumps([os.nice(0), idle, group.strip()]))
"""
WAIT = "import threading; from pipeline.jobs.niceness import end_with_input; end_with_input(); threading.Event().wait()"


@pytest.mark.parametrize("own", [True, False])
def test_a_command_takes_what_others_leave(dsn: str, own: bool) -> None:
    nice, idle, group = ran(dsn, own, "true")

    assert (nice, idle) == (19, True)
    assert group.endswith(" nice 19") == (own and bool(group))


def test_a_command_may_have_its_share(dsn: str) -> None:
    nice, idle, group = ran(dsn, True, "false")

    assert (nice, idle) == (os.nice(0), False)
    assert not group.endswith(" nice 19")


def ran(dsn: str, own: bool, nice: str) -> tuple[int, bool, str]:
    """The niceness of a command with a session of its own, or in ours; whether it is idle; its group, if any."""
    given = {"DJANGO_SETTINGS_MODULE": "console.settings", "PIPELINE_NICE": nice}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND],
        cwd=PROJECT, env=environment(dsn) | given, capture_output=True, text=True, check=True, start_new_session=own,
    )  # fmt: skip
    nice, idle, group = json.loads(done.stdout.splitlines()[-1])
    return nice, idle, group


def test_a_command_ends_with_the_process_that_holds_its_input() -> None:
    given = {"cwd": PROJECT, "env": {**os.environ, "PYTHONPATH": str(PROJECT)}, "stdin": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", WAIT], **given) as process:
        assert process.stdin is not None
        process.stdin.write(b"words are no end")
        process.stdin.close()

        assert process.wait(60) == -signal.SIGTERM
