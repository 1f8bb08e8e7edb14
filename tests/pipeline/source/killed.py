"""A query from a stream to a queue. By itself, all of Spark is killed once a query to each queue has come to its step:
killed.py URL STREAM FOLDER STEP=QUEUE...
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


def run(source: Any, url: str, stream: str, queue: str, folder: Path, sink: str = "signalbox", **options: Any) -> None:
    """Write the present contents of the stream to the queue."""
    begin(source, url, stream, queue, folder, sink, **options).awaitTermination()


def begin(source: Any, url: str, stream: str, queue: str, folder: Path, sink: str, **options: Any) -> Any:
    read = source.readStream.format("signalbox").options(url=url, stream=stream).load().select("payload")
    return (
        read.writeStream.format(sink)
        .options(url=url, queue=queue, checkpointLocation=str(folder / "checkpoint"), **options)
        .trigger(availableNow=True)
        .start()
    )


if __name__ == "__main__":
    from pipeline.spark import sessions
    from signalbox.spark import register
    from tests.pipeline.session import SMALL
    from tests.pipeline.source.dying import DyingSource

    url, stream, folder, *given = sys.argv[1:]
    queues = dict(one.split("=") for one in given)
    flags = {step: f"{folder}/{queue}.died" for step, queue in queues.items()}
    common = {"group": os.getpgid(0), "others": os.pathsep.join(flags.values())}
    with sessions.session("local[1]", SMALL, Path(os.environ["SPARK_CLASSES"])) as session:
        register(session)
        session.dataSource.register(DyingSource)
        queries = [
            begin(session, url, stream, queue, Path(folder, queue), "dying", die=step, flag=flags[step], **common)
            for step, queue in queues.items()
        ]
        for query in queries:
            query.awaitTermination()
