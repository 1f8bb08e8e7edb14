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
    """What upkeep does every second, now."""
    until_no_vacuum_writes(engine.connection)  # a transaction of anybody's is waited for before anything is given back
    engine.rows(
        "select signalbox._evaluate(g.gauge_id) from signalbox.gauge g, signalbox.queue q"
        " where q.queue_id = %s and (g.queue_id = q.queue_id or g.tenant_id = q.tenant_id)",
        engine.queue_id,
    )


def refusals(engine: Engine) -> dict[str, int]:
    """What was counted, where anything was."""
    return dict(
        engine.rows(
            "select reason, signalbox._register(counter) from signalbox.refusal"
            " where queue_id = %s and signalbox._register(counter) > 0",
            engine.queue_id,
        )
    )
