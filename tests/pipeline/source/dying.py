"""The data source, which dies at one step: its process, or all of Spark, as by kill -9; a file says that it did."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.types import StructType

from signalbox.spark import SignalboxSource
from signalbox.spark.writing import BatchWriter, StreamWriter


class DyingSource(SignalboxSource):
    @classmethod
    def name(cls) -> str:
        return "dying"

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        return self._dying(super().writer, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802 - Spark's name
        return self._dying(super().streamWriter, schema, overwrite)

    def _dying(self, made: Any, schema: StructType, overwrite: bool) -> Any:
        step, flag = self.options.pop("die"), self.options.pop("flag")
        group, others = int(self.options.pop("group", "0")), self.options.pop("others", "")
        writer = made(schema, overwrite)
        return _dying(type(writer), step, lambda: die(flag, group, others.split(os.pathsep)))(writer)


def die(flag: str, group: int, others: Sequence[str]) -> None:
    """Kill this process, and before it the group of processes that Spark is, if one is named, and has come as far
    everywhere else: there are flags for that.
    """
    Path(flag).touch()
    if group:
        while not all(Path(other).exists() for other in others):
            time.sleep(0.01)
        os.killpg(group, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _dying(kind: type[Any], step: str, die: Callable[[], None]) -> type[Any]:
    class Dying(kind):  # type: ignore[misc]
        def __init__(self, writer: Any) -> None:
            self.__dict__.update(writer.__dict__)

        def write(self, iterator: Iterator[Any]) -> Any:
            from pyspark import TaskContext

            context = TaskContext.get()
            number = context.partitionId() if context else 0
            if step == "before write" or (step == "between tasks" and number == 1):
                die()
            staged = super().write(iterator)
            if step == "after write":
                die()
            return staged

        def commit(self, *given: Any) -> None:
            if step == "before commit":
                die()
            super().commit(*given)
            if step == "after commit":
                die()

    return Dying
