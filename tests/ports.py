"""Ports for the servers that tests start."""

from __future__ import annotations

import random
import socket

LOWEST, HIGHEST = 12_000, 30_000


def free_port(other_than: int = 0) -> int:
    """Free port that no process gets by chance before the server of the test takes it.

    Those that the system gives out itself would be given to the next connection of any other process as well.
    """
    for port in random.SystemRandom().sample(range(LOWEST, HIGHEST), 100):
        if port == other_than:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("no port is free")
