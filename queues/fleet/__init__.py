"""The fleet: several databases, the cells, each a whole Signalbox, and a directory of where each part of a queue is.

`directory` reads this cell's copy, `cells` asks the other cells, `placing` adds cells and places queues, `copying`
brings the directory to every cell. The cell itself refuses a send of another cell's part (`queues/sql/fleet`).
"""

from queues.fleet.cells import CellState, Load, state_of, states
from queues.fleet.copying import Copied, copy_to_all
from queues.fleet.directory import Cell, Directory, Placement, cells, directory, get_cell, get_directory, placements
from queues.fleet.placing import add_cell, place

__all__ = [
    "Cell",
    "CellState",
    "Copied",
    "Directory",
    "Load",
    "Placement",
    "add_cell",
    "cells",
    "copy_to_all",
    "directory",
    "get_cell",
    "get_directory",
    "place",
    "placements",
    "state_of",
    "states",
]
