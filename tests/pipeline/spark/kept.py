"""A process that keeps a server that is no Spark: kept.py HOME IDLE_SECONDS OWNER. It tells each look in HOME/looks."""

from __future__ import annotations

import secrets
import socket
import sys
from pathlib import Path

from pipeline.spark import keeper
from pipeline.spark.keeper import Life, ServerFolder

HOME = Path(sys.argv[1])


class Pretended:
    """Keep a server that ends when a file called crash appears."""

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


keeper.REPORT_SECONDS = keeper.WATCH_SECONDS = 0.01
keeper.serve(ServerFolder(HOME), Pretended, float(sys.argv[2]), int(sys.argv[3]), tell)
