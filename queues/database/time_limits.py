"""Time limits of statements for pages: a statement timeout that ends with its block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import OperationalError, transaction

from queues.database.query import fetch

COUNT_MILLISECONDS = 300
LIST_MILLISECONDS = 150
SLICE_MILLISECONDS = 1_000  # for a part of a list; what takes longer is tried with fewer rows


class OutOfTime(Exception):  # noqa: N818 - it names what happened, which "Error" after it would not make clearer
    """The database did not answer within the time limit."""


@contextmanager
def time_limit(milliseconds: float, **settings: str) -> Iterator[None]:
    """Cancel a statement of the block that runs longer, and raise `OutOfTime`; the outer transaction continues.

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
    """Limit the time of reading a part of a list to SLICE_MILLISECONDS."""
    with time_limit(SLICE_MILLISECONDS):
        yield


def fewer(rows: int) -> int:
    """Return the number of rows for the next try, when this number took too long."""
    return max(1, rows // 100)


@contextmanager
def local_settings(**settings: str) -> Iterator[None]:
    """Change settings of PostgreSQL for a block in a transaction; after an error the rollback restores them."""
    before = _change(settings)
    yield
    _change(before)


def limit_statements(milliseconds: float) -> None:
    """Change the limit for the rest of a `time_limit` block."""
    _change({"statement_timeout": _text(milliseconds)})


def _text(milliseconds: float) -> str:
    return f"{max(1, round(milliseconds))}ms"  # zero would be no limit at all


def _change(settings: dict[str, str]) -> dict[str, str]:
    """Change settings for this transaction; return their earlier values."""
    rows = fetch(
        "with before as materialized (select name, value, current_setting(name) as was"
        " from unnest(%s::text[], %s::text[]) as given(name, value))"
        " select name, was, set_config(name, value, true) from before",
        [list(settings), list(settings.values())],
    )
    return {name: was for name, was, _ in rows}
