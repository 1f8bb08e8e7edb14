"""A process that archives and kills itself at one step: killed.py URL STEP."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from unittest import mock

os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"

import django

django.setup()

from pipeline.archive import archiving  # noqa: E402
from pipeline.archive.extracting import Job, Written, write_part  # noqa: E402
from pipeline.archive.files import Store  # noqa: E402
from pipeline.archive.parts import Part  # noqa: E402
from pipeline.models import Run  # noqa: E402
from queues.control import archive_horizon  # noqa: E402

URL, STEP = sys.argv[1:]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def execute(job: Job, parts: Sequence[Part]) -> list[Written]:
    if STEP == "opened":
        die()
    written = write_part(job, parts[0])
    if STEP == "writing":
        with Store(job.url).writing(f"settled/day=2026-01-01/{job.prefix}-00001.parquet") as stream:
            stream.write(b"PAR1 and no more")
            stream.flush()
            die()
    written += [file for part in parts[1:] for file in write_part(job, part)]
    if STEP == "written":
        die()
    return written


def tell(run: Run) -> None:
    if STEP == "committed" and run.state == Run.State.COMMITTED:
        die()


def move(low: int, high: int) -> bool:
    moved = moved_really(low, high)
    if STEP == "committing":
        die()
    return moved


moved_really = archive_horizon.move
with mock.patch.object(archive_horizon, "move", move):
    archiving.archive(URL, actor="tests", execute=execute, report=tell, part_rows=3)
