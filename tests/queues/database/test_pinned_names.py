"""A function of the engine means what its file says, whatever names the caller's search path holds.

An unqualified name or operator in a body is looked up when the body runs, so who may create objects in a schema of the
caller's path could have code of theirs run by the caller. Each function either brings its own search path or has a body
that PostgreSQL parsed when it was made.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.engine import Engine

UNPINNED = """
select p.oid::regprocedure::text
from pg_proc p
where p.pronamespace = 'signalbox'::regnamespace and p.prosqlbody is null
  and not exists (select from unnest(p.proconfig) s where s ~ '^search_path=pg_catalog, (signalbox, )?pg_temp$')
order by 1
"""

BAITS = (
    ("||", "integer", "text", "text"),
    ("||", "text", "bigint", "text"),
    ("=", "integer", "integer", "boolean"),
    ("<=", "timestamptz", "timestamptz", "boolean"),
    ("+", "timestamptz", "interval", "timestamptz"),
    ("*", "double precision", "interval", "interval"),
)
"""Operators that the verbs use: their name, the types of their sides, and what they return."""


@pytest.fixture
def baited(engine: Engine) -> Any:
    """The engine's connection, whose search path begins with a schema that has the baits and ends with pg_catalog."""
    schema = f"bait_{uuid.uuid4().hex[:8]}"
    name = sql.Identifier(schema)
    run = engine.connection.execute
    run(sql.SQL("create schema {}").format(name))
    run(sql.SQL("create sequence {}.taken").format(name))
    for number, (operator, left, right, answer) in enumerate(BAITS):
        run(
            sql.SQL(
                "create function {schema}.bait_{number}(l {left}, r {right}) returns {answer} language plpgsql as"
                " $$ begin perform nextval({taken}); return l operator(pg_catalog.{operator}) r; end $$"
            ).format(
                schema=name,
                number=sql.SQL(str(number)),
                left=sql.SQL(left),
                right=sql.SQL(right),
                answer=sql.SQL(answer),
                operator=sql.SQL(operator),
                taken=sql.Literal(f"{schema}.taken"),
            )
        )
        run(
            sql.SQL(
                "create operator {schema}.{operator} (function = {schema}.{bait}, leftarg = {l}, rightarg = {r})"
            ).format(
                schema=name,
                operator=sql.SQL(operator),
                bait=sql.Identifier(f"bait_{number}"),
                l=sql.SQL(left),
                r=sql.SQL(right),
            )
        )
    run(sql.SQL("set search_path = {}, signalbox, public, pg_catalog").format(name))
    yield schema
    run("set search_path = signalbox, public")
    run(sql.SQL("drop schema {} cascade").format(name))


def test_every_function_brings_its_own_names(connect: Callable[..., psycopg.Connection[Any]]) -> None:
    assert connect().execute(UNPINNED.encode()).fetchall() == []


def test_operators_of_another_schema_are_never_called(engine: Engine, baited: str) -> None:
    assert engine.value("select 1 || 'a'::text") == "1a"
    taken = f"select last_value, is_called from {baited}.taken"
    assert engine.rows(taken) == [(1, True)]  # the bait itself works

    engine.value("select signalbox.send(%s, '1', priority => 3)", engine.queue)
    engine.value("select signalbox.send(%s, '2', delay_seconds => 0.001)", engine.queue)
    (handle,) = engine.rows("select receipt_handle from signalbox.receive(%s, 1)", engine.queue)[0]
    engine.value("select signalbox.nack(%s, error => 'x', delay_seconds => 0)", handle)
    engine.rows("select * from signalbox.receive(%s, 10)", engine.queue)
    for (step,) in engine.rows("select unnest(signalbox.upkeep_steps())"):
        engine.value("select signalbox.upkeep(%s)", step)

    assert engine.rows(taken) == [(1, True)]
