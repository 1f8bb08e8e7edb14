"""Rows of Arrow's into the database's stage, a thousand at a time: a task holds no more, however much it writes."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import psycopg

from signalbox.errors import InvalidArgument
from signalbox.spark.columns import APPENDED, SENT
from signalbox.spark.options import Target

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_ROWS = 1000
CHUNK_BYTES = 4 * 1024 * 1024

STAGE = """
select signalbox.stage_messages(
  %(stage)s::uuid,
  %(place)s::int,
  %(queue)s::text,
  %(stream)s::text,
  payloads => %(payloads)s::jsonb[],
  attributes => %(attributes)s::jsonb[],
  priorities => %(priorities)s::int[],
  delay_seconds => %(delay_seconds)s::double precision[],
  keys => %(keys)s::text[],
  deduplication_ids => %(deduplication_ids)s::text[],
  trace_ids => %(trace_ids)s::text[]
)
"""
OPTIONS = dict.fromkeys(["attributes", "priorities", "delay_seconds", "keys", "deduplication_ids", "trace_ids"])


class Stage:
    """What one attempt of a task puts aside, under an id of its own."""

    def __init__(self, connection: psycopg.Connection[Any], target: Target) -> None:
        self.id = uuid.uuid4()
        self.messages = self.places = 0
        self._connection = connection
        self._target = target
        self._columns = SENT if target.queue is not None else APPENDED

    def add(self, batch: pa.RecordBatch) -> None:
        """Stage these rows, in their order."""
        given = {self._columns[name]: _values(name, batch.column(name)) for name in batch.schema.names}
        for low, high in chunks(given["payloads"]):
            rows = {name: values[low:high] for name, values in given.items()}
            self._connection.execute(
                STAGE,
                {
                    **OPTIONS,
                    **rows,
                    "stage": self.id,
                    "place": self.places,
                    "queue": self._target.queue,
                    "stream": self._target.stream,
                },
            )
            self.places += 1
            self.messages += high - low


def chunks(payloads: Sequence[str]) -> list[tuple[int, int]]:
    """Where to cut, so that no chunk is large: by rows and by what they hold."""
    cuts, size = [0], 0
    for place, payload in enumerate(payloads):
        if place - cuts[-1] >= CHUNK_ROWS or (size + len(payload) > CHUNK_BYTES and place > cuts[-1]):
            cuts.append(place)
            size = 0
        size += len(payload)
    return [cut for cut in zip(cuts, [*cuts[1:], len(payloads)], strict=True) if cut[0] < cut[1]]


def _values(name: str, column: pa.Array) -> list[Any]:
    import pyarrow as pa

    if name == "payload" and column.null_count:
        raise InvalidArgument("payload is null in a row: a message needs a JSON value", field="payload")
    if name == "priority":
        try:
            column = column.cast(pa.int32())
        except pa.ArrowInvalid as error:
            raise InvalidArgument("priority must be from 0 to 9 in every row", field="priority") from error
    if name == "delay_seconds":
        column = column.cast(pa.float64())
    values: list[Any] = column.to_pylist()
    if name not in ("priority", "delay_seconds") and any(value is not None and "\x00" in value for value in values):
        raise InvalidArgument(f"{name} has the character NUL in a row, which PostgreSQL cannot store", field=name)
    return values
