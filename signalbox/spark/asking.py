"""Small questions to the database: what there is, and how far it has come.

By psycopg, which the writers need anyway: what brings rows in Arrow's columns takes half a second to import, and a
process of Spark's that plans a read asks once and ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from signalbox.spark.options import Target

STATEMENT_MILLISECONDS = 3_600_000
"""A statement takes seconds. One that hangs must not hold back for longer what vacuum may clear away."""
BY_KEY = dict.fromkeys(["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"], "off")
"""Bodies are fetched by the key of what is there now: the cost is that of what is read, not of what else the log has,
whatever the statistics say of tables that were empty a moment ago."""

SET = "select set_config(%s, %s, false)"


class Question:
    """One connection, which reads only. Values of a statement are settings: COPY, by which rows come, takes none."""

    errors: type[Exception] = psycopg.Error

    def __init__(self, target: Target) -> None:
        self._connection = psycopg.connect(reading_dsn(target), autocommit=True)

    def __enter__(self) -> Question:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def rows(self, statement: str, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        """The answer of a small statement."""
        for name, setting in settings(values):
            self._connection.execute(SET, [name, setting])
        return self._connection.execute(statement.encode()).fetchall()


def reading_dsn(target: Target) -> str:
    """The connection string of whoever reads."""
    return target.dsn(
        "signalbox spark",
        default_transaction_read_only="on",
        statement_timeout=STATEMENT_MILLISECONDS,
        timezone="UTC",
        **BY_KEY,
    )


def settings(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """The values of a statement, as settings of the session."""
    return [(f"signalbox.{name}", "" if value is None else str(value)) for name, value in values.items()]


def value(name: str, type_: str = "bigint") -> str:
    """A value of a statement, as SQL; null where it is not set."""
    return f"nullif(current_setting('signalbox.{name}'), '')::{type_}"
