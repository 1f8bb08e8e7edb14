"""The Celery tasks: each is the command in a process of its own, whose Java ends with it.

A task that is lost is no harm: the next run takes what it would have taken. Nor is one that comes twice: the second
finds the first at work. What a run did is in its row.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

from celery import shared_task

log = logging.getLogger(__name__)

MANAGE = Path(__file__).resolve().parent.parent / "manage.py"


@shared_task(name="pipeline.archive")  # type: ignore[untyped-decorator]
def archive(actor: str = "celery") -> None:
    """Archive what has ended."""
    _command("archive", actor)


@shared_task(name="pipeline.rollup")  # type: ignore[untyped-decorator]
def rollup(actor: str = "celery") -> None:
    """Reckon hours and days of what was archived."""
    _command("rollup", actor)


def _command(verb: str, actor: str) -> None:
    command = [sys.executable, str(MANAGE), "pipeline", verb, f"--by={actor}"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ended.returncode:
        log.warning("pipeline %s ended with %d: %s", verb, ended.returncode, _last_line(ended.stderr))


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")
