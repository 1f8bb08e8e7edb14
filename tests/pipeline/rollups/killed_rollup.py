"""A process that rolls up and kills itself at one step: killed_rollup.py STEP."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any
from unittest import mock

os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"

import django

django.setup()

from pipeline.models import Sent  # noqa: E402
from pipeline.rollups import rolling  # noqa: E402
from tests.pipeline.rollups.plain_rollups import plainly  # noqa: E402

STEP = sys.argv[1]


def tell(step: str) -> None:
    if step == STEP:
        os.kill(os.getpid(), signal.SIGKILL)


def replace(*given: Any) -> int:
    replaced = replaced_really(*given)
    tell("replaced")
    return replaced


def create(*given: Any, **options: Any) -> None:
    created_really(*given, **options)
    tell("committing")


replaced_really, created_really = rolling._replace, Sent.objects.bulk_create
with (
    plainly(),
    mock.patch.object(rolling, "_replace", replace),
    mock.patch.object(Sent.objects, "bulk_create", create),
):
    rolling.roll_up(lambda: tell("begun"), actor="tests")  # type: ignore[arg-type,return-value]
tell("committed")
