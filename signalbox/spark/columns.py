"""The columns of reads and writes, for Spark and Arrow alike: batches must have exactly these types."""

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

#: The columns of a message in a queue. Payload and attributes are JSON text.
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
#: The columns of a message in a stream.
STREAM = {
    "partition": "int",
    "position": "bigint",
    "key": "string",
    "payload": "string",
    "attributes": "string",
    "trace_id": "string",
    "appended_at": "timestamp",
    "body_sha256": "binary",
    "body_bytes": "bigint",
}
#: The columns that may be written to a queue, each with the name of its SQL parameter.
SENT = {
    "payload": "payloads",
    "attributes": "attributes",
    "priority": "priorities",
    "delay_seconds": "delay_seconds",
    "group_id": "keys",
    "deduplication_id": "deduplication_ids",
    "trace_id": "trace_ids",
}
#: The columns that may be appended to a stream, each with the name of its SQL parameter.
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


def schema_of(columns: dict[str, str], names: tuple[str, ...]) -> StructType:
    """Make the schema of the named columns, in this order."""
    return StructType([StructField(name, _SPARK[columns[name]]) for name in names])


def check_written(schema: StructType, columns: dict[str, str], target: str) -> None:
    """Refuse a table that cannot be sent, by its columns' names and types."""
    names = [field.name for field in schema.fields]
    for field in schema.fields:
        if field.name not in columns:
            raise InvalidArgument(
                f"{field.name[:80]} is not a column of a {target}; allowed: {', '.join(columns)}", field=field.name
            )
        kind = field.dataType.simpleString()
        allowed = _TYPES.get(field.name, ("string",))
        if kind.partition("(")[0] not in allowed:
            advice = (
                ": make it text with to_json(...)" if allowed == ("string",) else f": it must be {' or '.join(allowed)}"
            )
            raise InvalidArgument(f"{field.name} is of type {kind[:80]}{advice}", field=field.name)
        if names.count(field.name) > 1:
            raise InvalidArgument(f"{field.name} is a column twice: write it once", field=field.name)
    if "payload" not in names:
        raise InvalidArgument("payload is missing: a message needs a column of JSON text", field="payload")
