"""A query from a stream to a queue. By itself, all of Spark is killed: killed.py URL STREAM QUEUE FOLDER STEP FLAG."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


def run(source: Any, url: str, stream: str, queue: str, folder: Path, sink: str = "signalbox", **options: Any) -> None:
    """What is in the stream now, to the queue."""
    read = source.readStream.format("signalbox").options(url=url, stream=stream).load().select("payload")
    query = (
        read.writeStream.format(sink)
        .options(url=url, queue=queue, checkpointLocation=str(folder / "checkpoint"), **options)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    from pipeline.on_spark import sessions
    from signalbox.spark import register
    from tests.pipeline.session import SMALL
    from tests.pipeline.source.dying import DyingSource

    url, stream, queue, folder, step, flag = sys.argv[1:]
    with sessions.session("local[1]", SMALL, Path(os.environ["SPARK_CLASSES"])) as session:
        register(session)
        session.dataSource.register(DyingSource)
        run(session, url, stream, queue, Path(folder), "dying", die=step, flag=flag, group=os.getpgid(0))
