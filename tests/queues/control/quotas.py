"""Sending against a limit in tests: what a refusal says, and what was counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine
from tests.races.sessions import until_no_vacuum_writes

Connect = Callable[..., psycopg.Connection[Any]]


MakeEngine = Callable[..., Engine]


def refused(call: Callable[..., object], *arguments: Any, **options: Any) -> dict[str, Any]:
    """The details of a refusal: reason, limit, actual, retry_after, scope; and the limit's name as `column`."""
    with pytest.raises(psycopg.Error) as caught:
        call(*arguments, **options)
    assert caught.value.sqlstate == "SB429", caught.value
    return {**json.loads(caught.value.diag.message_detail or ""), "column": caught.value.diag.column_name}


def send_batch(engine: Engine, payloads: list[Any], **options: Any) -> list[int]:
    names = "".join(f", {name} => %s" for name in options)
    statement = f"select id from signalbox.send_batch(%s, %s::jsonb[]{names}) id"
    return [row[0] for row in engine.rows(statement, engine.queue, list(map(Jsonb, payloads)), *options.values())]


def evaluate(engine: Engine) -> None:
    """Do the quota work of upkeep now, instead of every second."""
    until_no_vacuum_writes(engine.connection)  # a transaction of anybody's is waited for before anything is given back
    engine.rows(
        "select signalbox._evaluate(g.counter_id) from signalbox.admission_counter g, signalbox.queue q"
        " where q.queue_id = %s and (g.queue_id = q.queue_id or g.tenant_id = q.tenant_id)",
        engine.queue_id,
    )


def refusals(engine: Engine) -> dict[str, int]:
    """Counts of refusals that are not zero."""
    return dict(
        engine.rows(
            "select reason, signalbox._read_counter(counter) from signalbox.refusal"
            " where queue_id = %s and signalbox._read_counter(counter) > 0",
            engine.queue_id,
        )
    )
