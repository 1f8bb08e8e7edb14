"""A process that stages a replay and kills itself at one step: killed_replay.py QUEUE TARGET STEP."""

from __future__ import annotations

import os
import signal
import sys
from unittest import mock

os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"

import django

django.setup()

from dlq.redrives.plan_options import Options  # noqa: E402
from pipeline.jobs import runs  # noqa: E402
from pipeline.replay import replaying  # noqa: E402
from pipeline.replay.replay_arguments import ReplayRequest  # noqa: E402
from tests.pipeline.replay.choices import plainly  # noqa: E402

QUEUE, TARGET, STEP = sys.argv[1:]


def tell(step: str) -> None:
    if step == STEP:
        os.kill(os.getpid(), signal.SIGKILL)


def commit(*given: object, **named: object) -> None:
    committed_really(*given, **named)  # type: ignore[arg-type]
    tell("committing")


committed_really = runs.commit
with mock.patch.object(runs, "commit", commit):
    replaying.stage(plainly(tell), ReplayRequest(f"queue:{QUEUE}", Options(target_queue=TARGET)), actor="tests")
tell("committed")
