"""Processes that work on the test database and kill themselves, forked from one that has imported what they need.

Importing takes many times as long as what they do. A fork is a process of its own all the same, with connections of its
own, and nothing is cleaned up behind it when it is killed.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from importlib import import_module
from types import TracebackType
from typing import Any, NoReturn

from tests.dlq.processes import PROJECT, environment

NEEDED = (
    "adbc_driver_postgresql.dbapi",
    "pyarrow.compute",
    "pyarrow.fs",
    "pyarrow.parquet",
    "pipeline.analysis.analysing",
    "pipeline.archive.archiving",
    "pipeline.erasure.in_archive",
    "tests.pipeline.replay.choices",
    "tests.pipeline.rollups.plain_rollups",
)


class Forks:
    """The process that is forked; it ends with ours."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self._origin = subprocess.Popen(
            [sys.executable, "-m", "tests.pipeline.forks"],
            cwd=PROJECT, env=environment(dsn), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._origin.communicate()

    def run(self, module: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run `python -m module arguments` in the test's environment; return its status and output."""
        assert self._origin.stdin is not None
        assert self._origin.stdout is not None
        command = [module, *map(str, arguments)]
        with tempfile.NamedTemporaryFile("r", prefix="forked-") as said:
            asked = {"command": command, "environment": environment(self.dsn), "said": said.name}
            self._origin.stdin.write(json.dumps(asked) + "\n")
            self._origin.stdin.flush()
            ended = self._origin.stdout.readline()
            assert ended, "the process that is forked has ended"
            return subprocess.CompletedProcess(command, int(ended), stderr=said.read())


def serve() -> None:
    """Fork for each line of standard input, and say how the fork ended."""
    for line in sys.stdin:
        asked = json.loads(line)
        if not (process := os.fork()):
            work(asked)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)  # noqa: T201 - to `Forks`


def work(asked: dict[str, Any]) -> NoReturn:
    with open(os.devnull) as nothing, open(asked["said"], "w") as said:  # noqa: PTH123 - descriptors are meant
        os.dup2(nothing.fileno(), 0)
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = list(asked["command"])
    ended = 1
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        ended = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(ended)


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"

    import django

    django.setup()
    for name in NEEDED:
        import_module(name)
    gc.collect()
    gc.freeze()  # else each fork may look through all of it
    serve()
