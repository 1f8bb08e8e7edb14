"""A rollup in the kept server whose task would never end: interrupted.py BEGUN, a file with the task's process."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"

import django

django.setup()

import pyarrow as pa  # noqa: E402
from django.conf import settings  # noqa: E402

from pipeline.errors import Cancelled  # noqa: E402
from pipeline.jobs.runs import interrupted_when_cancelled  # noqa: E402
from pipeline.spark import sessions  # noqa: E402

begun = sys.argv[1]
sessions.RETRIES = 3  # one second; no test waits for a busy server here


def never_ends(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    draft = Path(f"{begun}.{os.getpid()}")
    draft.write_text(str(os.getpid()))
    draft.rename(begun)
    while True:
        time.sleep(0.1)
    yield from batches


with sessions.open_session(settings.SPARK_MASTER, settings.SPARK_OPTIONS, 0) as spark:
    try:
        with interrupted_when_cancelled("rollup", spark):
            spark.range(0, 1, 1, 1).mapInArrow(never_ends, "id long").toArrow()
    except Cancelled:
        print("cancelled", spark.range(3).count())  # noqa: T201 - the session goes on
    except Exception as error:
        print("failed", type(error).__name__)  # noqa: T201
