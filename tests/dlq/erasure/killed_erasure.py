"""A process that runs an erasure and kills itself: killed_erasure.py ERASURE_ID PLACE STEP.

STEP is `before`: at the beginning of the first batch in that place; `within`: when it has erased and not committed; or
`between`: when a batch there has committed.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import datetime

os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"

import django

django.setup()

from dlq.erasure import batches  # noqa: E402
from dlq.erasure.models import Erasure  # noqa: E402
from dlq.jobs import runner  # noqa: E402

ERASURE_ID, PLACE, STEP = int(sys.argv[1]), sys.argv[2], sys.argv[3]
done: list[str] = []


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def batch(job: Erasure, now: datetime) -> float | None:
    place, found = job.place, job.found
    if STEP == "between" and PLACE in done:
        die()
    if STEP == "before" and place == PLACE:
        die()
    wait_seconds = batches.batch(job, now)
    if place == PLACE and (job.found > found or PLACE in ("again", "bodies")):
        done.append(place)
        if STEP == "within":
            die()
    return wait_seconds


while True:
    runner.Work(Erasure, batch).run_slice(ERASURE_ID, 20.0)
