"""Celery application of the benchmark for every broker, with one task that only counts itself."""

import json
import mmap
import os
import struct
from pathlib import Path

from celery import Celery

import signalbox.celery  # noqa: F401 - a checkout has no entry points

GIVEN = json.loads(os.environ["BENCH_CELERY"])

app = Celery("bench", broker=GIVEN["broker"])
app.conf.update(
    broker_transport_options=GIVEN["options"],
    broker_connection_retry_on_startup=True,
    task_ignore_result=True,
    task_acks_late=GIVEN["acks_late"],
)
with Path(GIVEN["count"]).open("r+b") as counter:
    count = mmap.mmap(counter.fileno(), 8)


@app.task(name="bench.nothing")
def nothing(_number: int) -> None:
    """Count one task; a pool of one process needs no lock."""
    count[:8] = struct.pack("q", struct.unpack("q", count[:8])[0] + 1)
