"""The command of each part of a server, for the supervisor, for systemd and for containers."""

from __future__ import annotations

import sys

from django.conf import settings

from console.server.supervisor import Part
from pipeline.spark.sessions import has_spark
from signalbox.cli.server import PARTS

HOST = "127.0.0.1"
NAMES = PARTS
LOGS_OF_CELERY = {"jobs", "pipeline", "beat"}
"""Parts of Celery, which log their tasks only with `--loglevel INFO`."""
GRACE_SECONDS = 25
"""Seconds in which running requests may finish when a console outside of a supervisor stops."""
MANAGE = str(settings.BASE_DIR / "manage.py")


def command(name: str, host: str = HOST, grace_seconds: int = GRACE_SECONDS) -> list[str]:
    """Return the command of a part."""
    python, celery = sys.executable, [sys.executable, "-m", "celery", "-A", "console"]
    worker = [*celery, "worker", "--pool", "threads", "--concurrency"]
    address = ["--host", host, "--port", str(settings.PORT)]
    grace = ["--timeout-graceful-shutdown", str(grace_seconds)]
    logs = ["--loglevel", "INFO"] if name in LOGS_OF_CELERY else []
    parts = {
        "console": [python, "-m", "uvicorn", "console.asgi:application", *address, *grace],
        "upkeep": [python, MANAGE, "upkeep"],
        "jobs": [*worker, "4", "-n", "jobs@%h"],
        "pipeline": [*worker, "2", "-n", "pipeline@%h", "-Q", settings.PIPELINE_QUEUE],
        "beat": [*celery, "beat"],
        "alerts": [python, MANAGE, "alerts", "evaluate"],
    }
    return [*parts[name], *logs]


def together(host: str = HOST) -> list[Part]:
    """Return the parts of a server on one machine; those of the pipeline only where Spark is installed."""
    parts = [
        Part("console", [*command("console", host, grace_seconds=2), "--log-level", "warning"]),
        Part("upkeep", command("upkeep")),
        Part("jobs", command("jobs")),
    ]
    if has_spark():
        parts.append(Part("pipeline", [*command("pipeline"), "--beat"]))
    return [*parts, Part("alerts", command("alerts"))]
