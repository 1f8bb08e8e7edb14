"""Reading connections: `Question` for small answers by psycopg, `Extraction` for rows as Arrow columns by ADBC.

The writers need psycopg anyway. The driver for Arrow takes half a second to import, and a process of Spark that plans
a read needs one small answer. ADBC makes Arrow columns without Python objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import psycopg

from signalbox.spark.options import Target

if TYPE_CHECKING:
    import pyarrow as pa

STATEMENT_MILLISECONDS = 3_600_000
"""The timeout of a statement, which takes seconds. One that hangs keeps vacuum from removing dead rows."""
BY_KEY = dict.fromkeys(["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"], "off")
"""Planner settings that fetch bodies by key: the cost follows the messages that are read, not the size of the log, even
where the statistics of a table are old."""

BATCH_BYTES = 8 * 1024 * 1024

SET = "select set_config(%s, %s, false)"


class Question:
    """One read-only connection. Values of a statement travel as settings, since COPY takes no parameters."""

    errors: type[Exception] = psycopg.Error

    def __init__(self, target: Target) -> None:
        self._connection = psycopg.connect(reading_dsn(target), autocommit=True)

    def close(self) -> None:
        """Close the connection of the reader."""
        self._connection.close()

    def rows(self, statement: str, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        """Run a statement with few rows and return the rows."""
        for name, setting in settings(values):
            self._connection.execute(SET, [name, setting])
        return self._connection.execute(statement.encode()).fetchall()


class _SharedHandle:
    """A stand-in for the shared database handle, which a connection would close at its end."""

    def close(self) -> None:
        """Keep the database handle, which other connections use."""


@lru_cache(maxsize=8)
def _database(dsn: str) -> Any:
    """Make the handle that opens connections; the cost is a read of the types and columns of every table."""
    import adbc_driver_postgresql

    return adbc_driver_postgresql.connect(dsn)


class Extraction:
    """The read-only connection of one task."""

    def __init__(self, target: Target) -> None:
        from adbc_driver_manager import AdbcConnection, dbapi

        connection = AdbcConnection(_database(reading_dsn(target)))
        self._connection = dbapi.Connection(_SharedHandle(), connection, autocommit=True)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close the connection of the task."""
        self._connection.close()

    def rows(self, statement: str, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        """Run a statement with few rows and return the rows."""
        with self._connection.cursor() as cursor:
            self._set(cursor, values)
            cursor.execute(statement)
            return [tuple(row.values()) for row in cursor.fetch_arrow_table().to_pylist()]

    def batches(self, statement: str, values: Mapping[str, object], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Run a statement and yield its rows as batches of this schema."""
        import adbc_driver_postgresql
        import pyarrow as pa

        hint = {adbc_driver_postgresql.StatementOptions.BATCH_SIZE_HINT_BYTES.value: str(BATCH_BYTES)}
        with self._connection.cursor(adbc_stmt_kwargs=hint) as cursor:
            self._set(cursor, values)
            cursor.execute(statement)
            for batch in cursor.fetch_record_batch():
                yield pa.RecordBatch.from_arrays(
                    [batch.column(field.name).cast(field.type) for field in schema], schema=schema
                )

    @staticmethod
    def _set(cursor: Any, values: Mapping[str, object]) -> None:
        for setting in settings(values):
            cursor.execute("select set_config($1, $2, false)", setting)
            cursor.fetchall()


def reading_dsn(target: Target) -> str:
    """The connection string of the reader."""
    return target.dsn(
        "signalbox spark",
        default_transaction_read_only="on",
        statement_timeout=STATEMENT_MILLISECONDS,
        timezone="UTC",
        **BY_KEY,
    )


def settings(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """Write the values of a statement as settings of the session."""
    return [(f"signalbox.{name}", "" if value is None else str(value)) for name, value in values.items()]


def value(name: str, type_: str = "bigint") -> str:
    """Write SQL that reads a value of a statement from the session's settings; null for an empty one."""
    return f"nullif(current_setting('signalbox.{name}'), '')::{type_}"


def selected(columns: Sequence[str]) -> str:
    """Write the select list of these columns, with JSON as text."""
    texts = ("payload", "attributes")
    return ", ".join(f"m.{name}::text as {name}" if name in texts else f"m.{name}" for name in columns)
