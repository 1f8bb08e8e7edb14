"""Reports of the command `fleet`: each as a document for programs, and as lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from queues.fleet import balance
from queues.fleet.copying import Copied
from queues.fleet.directory import Cell, Placement, get_directory, placements, written
from queues.fleet.moves import Impact, Move, moves
from queues.fleet.readings import Reading, read_fleet


@dataclass(frozen=True)
class Report:
    """A document, and the same in lines."""

    document: Any
    lines: Sequence[str]

    @property
    def json(self) -> str:
        """Write the document as JSON."""
        return json.dumps(self.document, indent=2, default=str)

    @property
    def text(self) -> str:
        """Write the lines that have something."""
        return "\n".join(filter(None, self.lines))


def of_cell(cell: Cell, copies: Sequence[Copied]) -> Report:
    """Report a cell that was added."""
    document = {"cell": asdict(cell), "copies": [asdict(copy) for copy in copies]}
    return Report(document, [f"{cell.name} is a cell of the fleet of {get_directory().home}.", *map(_copy, copies)])


def of_queue(queue: str, copies: Sequence[Copied]) -> Report:
    """Report where a queue is, and the moves that have not ended."""
    placed = placements(queue)
    moving = [move for move in moves(active=True) if move.queue == queue]
    document = {
        "placements": [_placement_document(placement) for placement in placed],
        "moves": [_move_document(move) for move in moving],
        "copies": [asdict(copy) for copy in copies],
    }
    return Report(document, [*map(_placement, placed), *map(_move, moving), *map(_copy, copies)])


def of_fleet() -> Report:
    """Report every cell, every placement, and the moves that have not ended."""
    here, known, placed, moving = get_directory(), read_fleet(), placements(), moves(active=True)
    document = {
        **asdict(here),
        "cells": [_reading_document(reading) for reading in known],
        "placements": [_placement_document(placement) for placement in placed],
        "moves": [_move_document(move) for move in moving],
    }
    first = f"This is {here.cell}. The directory is written in {here.home}; version {here.version}."
    return Report(document, [first, *map(_reading, known), *map(_placement, placed), *map(_move, moving)])


def of_moves(listed: Iterable[Move]) -> Report:
    """Report a list of moves."""
    listed = list(listed)
    return Report([_move_document(move) for move in listed], [*map(_move, listed)] or ["No move."])


def of_impact(parts: Sequence[Impact]) -> Report:
    """Report what a move would touch."""
    document = [asdict(part) | {"seconds": part.seconds} for part in parts]
    return Report(document, [*map(_impact, parts)] or ["The partitions are there already."])


def of_proposals(proposed: Sequence[balance.Move]) -> Report:
    """Report moves that would level the load."""
    document = [asdict(move) | {"ranges": written(move.partitions)} for move in proposed]
    return Report(document, [*map(_proposal, proposed)] or ["The cells are level, or no queue can level them."])


def _placement_document(placement: Placement) -> dict[str, Any]:
    return asdict(placement) | {"ranges": placement.ranges}


def _move_document(move: Move) -> dict[str, Any]:
    return asdict(move) | {"ranges": move.ranges, "seconds_left": move.seconds_left}


def _placement(placement: Placement) -> str:
    words = {
        "settled": f"on {placement.cell}",
        "closing": f"on the way from {placement.from_cell} to {placement.cell}",
        "draining": f"on {placement.cell}, while {placement.from_cell} hands out what it has",
    }
    return f"{placement.queue}: {placement.ranges} {words[placement.state]} (epoch {placement.epoch})"


def _reading_document(reading: Reading) -> dict[str, Any]:
    answer = asdict(reading.answer) if reading.answer else {}
    return {"cell": asdict(reading.cell), "state": reading.state, "error": reading.error, **answer}


def _reading(reading: Reading) -> str:
    if reading.is_silent or reading.answer is None:
        return f"{reading.cell.name}: silent: {reading.error}"
    version, load = reading.answer.version, reading.answer.load
    return (
        f"{reading.cell.name}: version {version}, {load.ready + load.waiting} messages ready or waiting, "
        f"{load.leased} in flight, {load.sends_per_second:.1f} sends/s, {load.receives_per_second:.1f} receives/s"
    )


def _move(move: Move) -> str:
    words = f"Move {move.move_id}: {move.queue} {move.ranges} from {move.from_cell} to {move.to_cell}: {move.state}"
    if move.state == "draining" and move.messages_left is not None:
        words += f", {move.messages_left} of {move.messages} messages left"
    if move.seconds_left is not None:
        words += f", about {move.seconds_left:.0f} s"
    return words + (", paused" if move.paused else "") + (f": {move.problem}" if move.problem else "")


def _proposal(move: balance.Move) -> str:
    return (
        f"Move {move.queue} {written(move.partitions)} from {move.source} to {move.target}: "
        f"{move.load.sends_per_second:.1f} sends/s, {move.load.receives_per_second:.1f} receives/s; "
        f"peak over mean {move.peak_before:.2f}, then {move.peak_after:.2f}"
    )


def _impact(part: Impact) -> str:
    seconds = "nothing is received there" if part.seconds is None else f"about {part.seconds:.0f} s at its present rate"
    due = "" if part.due_seconds is None else f", the last due in {part.due_seconds:.0f} s"
    return (
        f"{part.from_cell} hands out {part.messages} messages before it is empty ({seconds}): "
        f"{part.in_flight} in flight, {part.scheduled} scheduled{due}. "
        f"{part.keys} deduplication ids are copied to {part.to_cell}."
    )


def _copy(copy: Copied) -> str:
    return f"{copy.cell} has an older copy of the directory: {copy.error}" if copy.error else ""
