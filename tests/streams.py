"""A stream of one's own, as short as a test wants it."""

from __future__ import annotations

import itertools
import uuid
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

Row = tuple[Any, ...]

_names = itertools.count(1)
_run = uuid.uuid4().hex[:6]


@dataclass
class Log:
    """The verbs of one stream over one connection."""

    connection: psycopg.Connection[Any]
    name: str
    stream_id: int

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        return self.connection.execute(statement, parameters).fetchall()

    def value(self, statement: str, *parameters: Any) -> Any:
        row = self.connection.execute(statement, parameters).fetchone()
        return row[0] if row else None

    def on(self, connection: psycopg.Connection[Any]) -> Log:
        """Stream as seen from another connection."""
        return Log(connection, self.name, self.stream_id)

    def append(self, payload: Any = None, key: str | None = None) -> Row:
        """Partition and position of the message."""
        return self.rows(
            "select partition, position from signalbox.append(%s, %s, key => %s)", self.name, Jsonb(payload), key
        )[0]

    def group(self, name: str = "g", point: str = "beginning", **options: Any) -> str:
        names = "".join(f", {option} => %s" for option in options)
        self.value(f"select signalbox.create_group(%s, %s, %s{names})", self.name, name, point, *options.values())
        return name

    def read(self, member: str = "m", most: int = 100, group: str = "g") -> list[Row]:
        """Rows of (partition, position, epoch, payload)."""
        return self.rows(
            "select partition, position, epoch, payload from signalbox.read_stream(%s, %s, %s, %s)",
            self.name,
            group,
            member,
            most,
        )

    def commit(self, row: Row, member: str = "m", group: str = "g") -> bool:
        return bool(
            self.value(
                "select signalbox.commit_offset(%s, %s, %s, %s, %s, %s)",
                self.name,
                group,
                member,
                row[0],
                row[1],
                row[2],
            )
        )

    def consume(self, member: str = "m", group: str = "g") -> list[Any]:
        """Read what is there and commit it; the payloads."""
        rows = self.read(member, 1000, group)
        for row in rows:
            assert self.commit(row, member, group)
        return [row[3] for row in rows]

    def seek(self, point: str, group: str = "g", **options: Any) -> list[Row]:
        """Rows of (partition, from, to, messages)."""
        names = "".join(f", {option} => %s" for option in options)
        return self.rows(f"select * from signalbox.seek(%s, %s, %s{names})", self.name, group, point, *options.values())

    def numbers(self, group: str = "g") -> Row:
        """(members, lag in messages, lost)."""
        return self.rows(
            "select n.members, n.lag_messages, n.lost from signalbox.consumer_group g,"
            " signalbox.group_numbers(array[g.group_id]) n where g.stream_id = %s and g.name = %s",
            self.stream_id,
            group,
        )[0]

    def end_lease(self, member: str, group: str = "g") -> None:
        """Expire the member's lease."""
        self.connection.execute(
            "update signalbox.group_member m set lease_until = '-infinity' from signalbox.consumer_group g"
            " where g.group_id = m.group_id and g.stream_id = %s and g.name = %s and m.member = %s",
            [self.stream_id, group, member],
        )


def make_log(connection: psycopg.Connection[Any], **settings: Any) -> Log:
    """A stream of a new name."""
    name = f"stream-{_run}-{next(_names)}"
    row = connection.execute("select signalbox.create_stream(%s, %s)", [name, Jsonb(settings)]).fetchone()
    assert row is not None
    return Log(connection, name, row[0])
