"""The columns of reads and writes, once for Spark and Arrow: batches must have exactly these types."""

from __future__ import annotations

from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from signalbox.errors import InvalidArgument

#: Of a message that is under way in a queue. Payload and attributes are JSON text.
QUEUE = {
    "message_id": "bigint",
    "state": "string",
    "priority": "smallint",
    "receive_count": "smallint",
    "since": "timestamp",
    "deadline": "timestamp",
    "consumer": "string",
    "payload": "string",
    "attributes": "string",
    "group_id": "string",
    "deduplication_id": "string",
    "trace_id": "string",
    "sent_at": "timestamp",
    "body_sha256": "binary",
    "body_bytes": "bigint",
}
#: Of a message of a stream.
STREAM = {
    "partition": "int",
    "position": "bigint",
    "key": "string",
    "payload": "string",
    "attributes": "string",
    "trace_id": "string",
    "appended_at": "timestamp",
}
#: What may be written to a queue, and how its columns are called among those of a batch.
SENT = {
    "payload": "payloads",
    "attributes": "attributes",
    "priority": "priorities",
    "delay_seconds": "delay_seconds",
    "group_id": "keys",
    "deduplication_id": "deduplication_ids",
    "trace_id": "trace_ids",
}
#: What may be appended to a stream.
APPENDED = {"payload": "payloads", "attributes": "attributes", "key": "keys", "trace_id": "trace_ids"}

_SPARK: dict[str, DataType] = {
    "bigint": LongType(),
    "binary": BinaryType(),
    "int": IntegerType(),
    "smallint": ShortType(),
    "string": StringType(),
    "timestamp": TimestampType(),
}
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_TYPES = {"priority": _WHOLE, "delay_seconds": (*_WHOLE, "float", "double", "decimal")}


def schema_of(columns: dict[str, str], chosen: tuple[str, ...]) -> StructType:
    """The schema with these columns in this order."""
    return StructType([StructField(name, _SPARK[columns[name]]) for name in chosen])


def check_written(schema: StructType, columns: dict[str, str], target: str) -> None:
    """Refuse a table that cannot be sent, by its columns' names and types."""
    names = [field.name for field in schema.fields]
    for field in schema.fields:
        if field.name not in columns:
            raise InvalidArgument(
                f"{field.name[:80]} is no column of a {target}: those are {', '.join(columns)}", field=field.name
            )
        found = field.dataType.simpleString()
        wanted = _TYPES.get(field.name, ("string",))
        if found.partition("(")[0] not in wanted:
            advice = (
                ": make it text with to_json(...)" if wanted == ("string",) else f": it must be {' or '.join(wanted)}"
            )
            raise InvalidArgument(f"{field.name} is of type {found[:80]}{advice}", field=field.name)
        if names.count(field.name) > 1:
            raise InvalidArgument(f"{field.name} is there twice", field=field.name)
    if "payload" not in names:
        raise InvalidArgument("payload is missing: a message needs a column of JSON text", field="payload")
