"""A process that does all jobs in one session, wherever its settings say: conforming.py URL QUEUE FILTER [server]."""

from __future__ import annotations

import os
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402

from pipeline.spark import sessions  # noqa: E402

url, queue, chosen, *server = sys.argv[1:]
with sessions.open_session(settings.SPARK_MASTER, settings.SPARK_OPTIONS, os.getpid() if server else None):
    call_command("pipeline", "archive", "--json", f"--to={url}")
    call_command("pipeline", "rollup", "--json")
    call_command("pipeline", "analyse", "--json")
    call_command("pipeline", "replay", "--json", f"--target={queue}", "--", chosen)
