"""The fleet: several databases, the cells, each a whole Signalbox, and a directory of where each part of a queue is.

| module | what |
|---|---|
| `directory` | this cell's copy of the directory |
| `cells`, `readings` | connections to other cells; what they answer |
| `placing` | cells are added, queues are placed |
| `moves`, `moving` | moves of partitions; the runner that carries them out |
| `balance`, `rebalancing` | how level the cells are; moves that level them |
| `copying` | the directory is brought to every cell |

The cell itself refuses a send of another cell's part (`queues/sql/fleet`).
"""

from queues.fleet.copying import Copied, copy_to_all
from queues.fleet.directory import Cell, Directory, Placement, cells, directory, get_cell, get_directory, placements
from queues.fleet.moves import Impact, Move, cancel, get_move, impact, moves, parsed, pause, start
from queues.fleet.moving import advance, run_moves
from queues.fleet.placing import add_cell, place

__all__ = [
    "Cell",
    "Copied",
    "Directory",
    "Impact",
    "Move",
    "Placement",
    "add_cell",
    "advance",
    "cancel",
    "cells",
    "copy_to_all",
    "directory",
    "get_cell",
    "get_directory",
    "get_move",
    "impact",
    "moves",
    "parsed",
    "pause",
    "place",
    "placements",
    "run_moves",
    "start",
]
