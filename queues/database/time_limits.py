"""Time limits of statements for pages: a statement timeout that ends with its block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import OperationalError, connection, transaction

COUNT_MILLISECONDS = 300
LIST_MILLISECONDS = 150
SLICE_MILLISECONDS = 1_000  # for a part of a list; what takes longer is tried with fewer rows


class OutOfTime(Exception):  # noqa: N818 - it names what happened, which "Error" after it would not make clearer
    """The database did not answer within the time it was given."""


@contextmanager
def time_limit(milliseconds: float, **settings: str) -> Iterator[None]:
    """Cancel any statement of the block that runs longer, as `OutOfTime`; the transaction around it goes on.

    `settings` are other settings of PostgreSQL that hold within the block.
    """
    try:
        with transaction.atomic(), local_settings(**settings, statement_timeout=_text(milliseconds)):
            yield
    except OperationalError as error:
        if isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            raise OutOfTime(OutOfTime.__doc__) from error
        raise


@contextmanager
def slice_limit() -> Iterator[None]:
    """`time_limit` for a part of a list: long, since it is the last resort."""
    with time_limit(SLICE_MILLISECONDS):
        yield


def fewer(rows: int) -> int:
    """Return how many rows to try next, when these took too long."""
    return max(1, rows // 100)


@contextmanager
def local_settings(**settings: str) -> Iterator[None]:
    """Settings of PostgreSQL for a block within a transaction; what failed leaves its rollback to undo them."""
    before = _change(settings)
    yield
    _change(before)


def limit_statements(milliseconds: float) -> None:
    """Change the limit within `time_limit`, from here on."""
    _change({"statement_timeout": _text(milliseconds)})


def _text(milliseconds: float) -> str:
    return f"{max(1, round(milliseconds))}ms"  # zero would be no limit at all


def _change(settings: dict[str, str]) -> dict[str, str]:
    """Set for this transaction; returns what was set before."""
    with connection.cursor() as cursor:
        cursor.execute(
            "with before as materialized (select name, value, current_setting(name) as was"
            " from unnest(%s::text[], %s::text[]) as given(name, value))"
            " select name, was, set_config(name, value, true) from before",
            [list(settings), list(settings.values())],
        )
        return {name: was for name, was, _ in cursor.fetchall()}
