"""Promotion to another server: permanent moves happen once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.streams import make_log

Connect = Callable[..., psycopg.Connection[Any]]

LAST_ID = "select coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0)"


def test_a_reader_who_is_in_the_way_costs_no_ids(connect: Connect) -> None:
    """Ids go on far away when a server takes over, which is tried until it is done; no rollback brings them back."""
    log = make_log(connect(autocommit=False), partitions=1)
    log.group()
    log.append("a")
    log.connection.commit()
    (row,) = log.read()
    assert log.commit(row)  # and its transaction goes on
    with connect(autocommit=False) as server:
        (before,) = server.execute(LAST_ID).fetchone() or (0,)
        server.execute("delete from signalbox.promotion")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            server.execute("select signalbox.notice_promotion()")
        server.rollback()
        (after,) = server.execute(LAST_ID).fetchone() or (0,)
    log.connection.rollback()

    assert after == before
