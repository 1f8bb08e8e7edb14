"""A job that reads a stream and writes to a queue through the kept server: served.py URL STREAM QUEUE FOLDER."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"

import django

django.setup()

from django.conf import settings  # noqa: E402

from pipeline.spark import sessions  # noqa: E402
from signalbox.spark import register  # noqa: E402
from tests.pipeline.source.killed import run  # noqa: E402

url, stream, queue, folder = sys.argv[1:]
with sessions.open_session(settings.SPARK_MASTER, settings.SPARK_OPTIONS, 0) as session:
    register(session)
    run(session, url, stream, queue, Path(folder))
    sent = session.read.format("signalbox").options(url=url, queue=queue, columns="payload").load()
    print(sorted(row.payload for row in sent.collect()))  # noqa: T201
