"""Reading of pgoutput, the format of PostgreSQL's logical replication, protocol version 1."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

Row = dict[str, str | None]
"""The values of a row as text, by column. A large value that the log does not repeat has no entry."""


@dataclass(frozen=True)
class Change:
    """One change of a row, or of the whole table (truncate)."""

    op: str
    old: Row | None = None
    new: Row | None = None
    is_key: bool = False
    """Whether `old` has the key alone."""


@dataclass
class Transaction:
    """The changes of one committed transaction, and the place in the log behind its commit."""

    xid: int
    changes: list[Change] = field(default_factory=list)
    end_lsn: int = 0


def transactions(messages: Iterator[bytes]) -> Iterator[Transaction]:
    """Read the committed transactions of a slot, in the order of commits."""
    columns: dict[int, list[str]] = {}
    current = Transaction(0)
    for message in messages:
        reader = _Reader(message)
        kind = reader.byte()
        if kind == "B":
            reader.take("!qq")
            (xid,) = reader.take("!I")
            current = Transaction(xid)
        elif kind == "R":
            number, names = reader.relation()
            columns[number] = names
        elif kind == "C":
            _, _, current.end_lsn, _ = reader.take("!bqqq")
            yield current
        elif kind in "IUD":
            current.changes.append(reader.change(kind, columns))
        elif kind == "T":
            current.changes.append(Change("truncate"))


class _Reader:
    """A message, read from its start."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(layout, self.data, self.at)
        self.at += struct.calcsize(layout)
        return values

    def byte(self) -> str:
        self.at += 1
        return chr(self.data[self.at - 1])

    def text(self) -> str:
        end = self.data.index(0, self.at)
        value = self.data[self.at : end].decode()
        self.at = end + 1
        return value

    def relation(self) -> tuple[int, list[str]]:
        (number,) = self.take("!I")
        self.text(), self.text()  # schema and table, which the capture knows
        _, count = self.take("!bh")
        names = []
        for _ in range(count):
            self.byte()
            names.append(self.text())
            self.take("!Ii")
        return number, names

    def change(self, kind: str, columns: dict[int, list[str]]) -> Change:
        (number,) = self.take("!I")
        names, rows = columns[number], dict[str, Row]()
        while self.at < len(self.data):
            which = self.byte()
            rows[which] = self.row(names)
        op = {"I": "insert", "U": "update", "D": "delete"}[kind]
        return Change(op, rows.get("O") or rows.get("K"), rows.get("N"), "K" in rows)

    def row(self, names: list[str]) -> Row:
        (count,) = self.take("!h")
        row: Row = {}
        for name in names[:count]:
            kind = self.byte()
            if kind == "n":
                row[name] = None
            elif kind == "t":
                (length,) = self.take("!i")
                row[name] = self.data[self.at : self.at + length].decode()
                self.at += length
        return row
