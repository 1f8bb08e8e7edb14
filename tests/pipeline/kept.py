"""A process that keeps a server that is no Spark: kept.py HOME IDLE_SECONDS OWNER. It tells each look in HOME/looks."""

from __future__ import annotations

import secrets
import socket
import sys
from pathlib import Path

from pipeline.on_spark import serving
from pipeline.on_spark.server import Life, Place

HOME = Path(sys.argv[1])


class Pretended:
    """It listens, and ends once there is a file called crash."""

    def __init__(self) -> None:
        self.token = secrets.token_hex()
        self.listens = socket.create_server(("127.0.0.1", 0))
        self.port = self.listens.getsockname()[1]

    def lives(self) -> bool:
        return not (HOME / "crash").exists()

    def clear(self) -> None:
        pass

    def stop(self) -> None:
        self.listens.close()


def tell(life: Life) -> None:
    with (HOME / "looks").open("a") as looks:
        looks.write(f"{life.jobs} {life.busy} {life.ended}\n")


serving.TELL_SECONDS = serving.LOOK_SECONDS = 0.01
serving.serve(Place(HOME), Pretended, float(sys.argv[2]), int(sys.argv[3]), tell)
