"""Rows out of PostgreSQL in Arrow's columns: Python sees none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from signalbox.spark.asking import reading_dsn, settings
from signalbox.spark.options import Target

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_BYTES = 8 * 1024 * 1024


class _Kept:
    """What a connection is told to close at its end."""

    def close(self) -> None:
        """Others go on with it."""


@lru_cache(maxsize=8)
def _database(dsn: str) -> Any:
    """What makes connections and holds none. To make it reads the types and columns of every table."""
    import adbc_driver_postgresql

    return adbc_driver_postgresql.connect(dsn)


class Extraction:
    """One connection of one task, which reads only."""

    def __init__(self, target: Target) -> None:
        from adbc_driver_manager import AdbcConnection, dbapi

        made = AdbcConnection(_database(reading_dsn(target)))
        self._connection = dbapi.Connection(_Kept(), made, autocommit=True)  # type: ignore[arg-type]

    def __enter__(self) -> Extraction:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def rows(self, statement: str, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
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
        for named in settings(values):
            cursor.execute("select set_config($1, $2, false)", named)
            cursor.fetchall()


def selected(columns: Sequence[str], texts: frozenset[str] = frozenset({"payload", "attributes"})) -> str:
    """These columns, JSON as text."""
    return ", ".join(f"m.{name}::text as {name}" if name in texts else f"m.{name}" for name in columns)
