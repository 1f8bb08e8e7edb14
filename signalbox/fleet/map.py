"""The map of a fleet, as a client keeps it: where each partition of a queue is, and the addresses of the cells."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from signalbox.errors import InvalidArgument

#: The number of parts into which the keys of a placed queue are divided.
PARTITIONS = 64

SCHEME = "signalbox-fleet"

#: The parameters of an address that say which database it leads to; the others say how to connect.
_OF_THE_DATABASE = ("host", "hostaddr", "port", "dbname")


@dataclass(frozen=True, slots=True)
class QueueMap:
    """The cells to which the messages of one queue go, by one cell's copy of the directory."""

    version: int
    is_fifo: bool
    cells: Sequence[str]
    """The cell of each partition; one cell for a queue that was not placed."""
    holders: Sequence[str]
    """The cells that may hand out messages of the queue."""

    def cell_of(self, parameters: Mapping[str, Any]) -> str:
        """Find the cell that takes one message; one without a key goes to any cell of the queue."""
        key = key_of(parameters["group_id"], parameters["deduplication_id"], self.is_fifo)
        return random.choice(self.cells) if key is None else self._cell_of(key)  # noqa: S311 - no secret

    def split(self, parameters: Mapping[str, Any], indexes: Sequence[int]) -> dict[str, list[int]]:
        """Divide these messages of a batch among cells; all messages without a key go to one cell, chosen at random."""
        anywhere = random.choice(self.cells)  # noqa: S311 - no secret
        parts: dict[str, list[int]] = {}
        for index in indexes:
            group_id, deduplication_id = (
                parameters[name] and parameters[name][index] for name in ("group_ids", "deduplication_ids")
            )
            key = key_of(group_id, deduplication_id, self.is_fifo)
            parts.setdefault(anywhere if key is None else self._cell_of(key), []).append(index)
        return parts

    def _cell_of(self, key: str) -> str:
        return self.cells[partition_of(key) % len(self.cells)]


def key_of(group_id: str | None, deduplication_id: str | None, is_fifo: bool) -> str | None:
    """The routing key of a message; in a FIFO queue the messages without a group are one group."""
    if is_fifo:
        return group_id or ""
    return deduplication_id if group_id is None else group_id


def partition_of(key: str) -> int:
    """The partition of a key, as `queues/sql/consumer_groups/_partition_of.sql` computes it."""
    digest = hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()
    return int(digest[:7], 16) % PARTITIONS


def part_of(parameters: Mapping[str, Any], indexes: Sequence[int]) -> dict[str, Any]:
    """The parameters of a batch of only these messages of a larger batch."""
    return {
        name: [column[index] for index in indexes] if isinstance(column, list) else column
        for name, column in parameters.items()
    }


def map_of(document: Mapping[str, Any] | None) -> tuple[QueueMap, dict[str, str]]:
    """Read the answer of `signalbox.fleet_map`: the map of the queue, and the addresses of the cells."""
    if document is None:
        raise InvalidArgument("url leads to a database that is in no fleet: add it with `fleet add`", field="url")
    here = document["cell"]
    queue = QueueMap(
        version=document["version"],
        is_fifo=bool(document["is_fifo"]),
        cells=document["partitions"] or [here],
        holders=document["holders"] or [here],
    )
    return queue, document["urls"] or {}


def is_fleet(url: str) -> bool:
    """Return whether the address is of a fleet."""
    return re.match(f"{SCHEME}://", url, re.IGNORECASE) is not None


def seed_of(url: str) -> str:
    """The address of the cell that a fleet's address names, as libpq understands it."""
    return "postgresql" + url[len(SCHEME) :]


def address_of(seed: str, url: str) -> str:
    """The address of a cell, with the user, password and encryption of the seed where it names none."""
    how: dict[str, Any] = {
        name: value for name, value in conninfo_to_dict(seed).items() if name not in _OF_THE_DATABASE
    }
    return make_conninfo(**(how | conninfo_to_dict(url)))


def handle_at(cell: str, handle: str) -> str:
    """Prefix a receipt handle with its cell. Names of cells have no slash."""
    return f"{cell}/{handle}"


def cell_and_handle(receipt_handle: str) -> tuple[str, str]:
    """Split a receipt handle into its cell and the handle there. Raises InvalidArgument."""
    cell, slash, handle = receipt_handle.partition("/")
    if not (cell and slash and handle):
        raise InvalidArgument(
            f"receipt_handle {receipt_handle[:120]!r} names no cell: use a handle that a client of the fleet received",
            field="receipt_handle",
        )
    return cell, handle
