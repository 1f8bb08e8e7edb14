"""The loops that carry out moves: `fleet run` until it is stopped, `fleet move --wait` until the moves have ended."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from queues.fleet.copying import copy_to_all
from queues.fleet.moves import Move, get_move
from queues.fleet.moving import advance, run_moves
from queues.stopping import Stopping

PAUSE_SECONDS = 0.2
COPY_SECONDS = 5.0
"""The pause between two rounds in which every cell gets what is new in the directory."""
SHARE = 10
"""Reading a big queue takes long: the pause after it is this many times as long."""

logger = logging.getLogger(__name__)


def run(stopping: Stopping) -> None:
    """Carry out moves and copy the directory until `stopping` is set."""
    copies_at = 0.0
    while not stopping.is_set():
        began = time.monotonic()
        run_moves()
        if began >= copies_at:
            _copy()
            copies_at = time.monotonic() + COPY_SECONDS
        stopping.wait(max(PAUSE_SECONDS, SHARE * (time.monotonic() - began)))


def wait_for(moves: Sequence[Move], stopping: Stopping) -> list[Move]:
    """Carry out these moves until each has ended, or is paused, or `stopping` is set."""
    current = list(moves)
    while not stopping.is_set():
        began = time.monotonic()
        current = [move if move.has_ended else advance(move.move_id) for move in current]
        if all(move.has_ended or move.paused for move in current):
            break
        stopping.wait(max(PAUSE_SECONDS, SHARE * (time.monotonic() - began)))
    return [get_move(move.move_id) for move in current]


def _copy() -> None:
    for copy in copy_to_all():
        if copy.error:
            logger.warning("cell %s has an older copy of the directory: %s", copy.cell, copy.error)
