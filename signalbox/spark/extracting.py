"""Rows out of PostgreSQL in Arrow's columns: Python sees none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from signalbox.spark.options import Target

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_BYTES = 8 * 1024 * 1024
STATEMENT_MILLISECONDS = 3_600_000
"""A statement takes seconds. One that hangs must not hold back for longer what vacuum may clear away."""
BY_KEY = dict.fromkeys(["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"], "off")
"""Bodies are fetched by the key of what is there now: the cost is that of what is read, not of what else the log has,
whatever the statistics say of tables that were empty a moment ago."""


class Extraction:
    """One connection of one task, which reads only. Values of a statement are settings: COPY takes no parameters."""

    def __init__(self, target: Target) -> None:
        import adbc_driver_postgresql.dbapi as postgresql

        dsn = target.dsn(
            "signalbox spark",
            default_transaction_read_only="on",
            statement_timeout=STATEMENT_MILLISECONDS,
            timezone="UTC",
            **BY_KEY,
        )
        self.errors = postgresql.Error
        self._connection = postgresql.connect(dsn, autocommit=True)

    def __enter__(self) -> Extraction:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def rows(self, statement: str, values: Mapping[str, object]) -> list[Sequence[Any]]:
        """The answer of a small statement."""
        with self._connection.cursor() as cursor:
            self._set(cursor, values)
            cursor.execute(statement)
            return [tuple(row.values()) for row in cursor.fetch_arrow_table().to_pylist()]

    def batches(self, statement: str, values: Mapping[str, object], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The answer as batches of this schema."""
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
        for name, value in values.items():
            cursor.execute(
                "select set_config($1, $2, false)", (f"signalbox.{name}", "" if value is None else str(value))
            )
            cursor.fetchall()


def value(name: str, type_: str = "bigint") -> str:
    """A value of a statement, as SQL; null where it is not set."""
    return f"nullif(current_setting('signalbox.{name}'), '')::{type_}"


def selected(columns: Sequence[str], texts: frozenset[str] = frozenset({"payload", "attributes"})) -> str:
    """These columns, JSON as text."""
    return ", ".join(f"m.{name}::text as {name}" if name in texts else f"m.{name}" for name in columns)
