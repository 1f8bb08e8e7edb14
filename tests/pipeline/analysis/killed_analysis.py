"""A process that analyses and kills itself at one step: killed_analysis.py STEP."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any
from unittest import mock

os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"

import django

django.setup()

from pipeline.analysis import analysing  # noqa: E402
from pipeline.analysis.analysing import _Result  # noqa: E402
from tests.pipeline.analysis.analysis_result import result  # noqa: E402

STEP = sys.argv[1]


def tell(step: str) -> None:
    if step == STEP:
        os.kill(os.getpid(), signal.SIGKILL)


def of(run: Any, spark: Any, window: analysing.Window) -> _Result:
    tell("begun")
    return result("v2:second")


def copy(model: type[Any], rows: Any) -> None:
    tell(f"before {model.__name__}")
    copied_really(model, rows)


copied_really = analysing._copy
with mock.patch.object(_Result, "of", of), mock.patch.object(analysing, "_copy", copy):
    analysing.analyse(lambda: None, actor="tests")  # type: ignore[arg-type,return-value]
tell("committed")
