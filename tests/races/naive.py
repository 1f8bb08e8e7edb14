"""Verbs that are wrong on purpose: what shows that a race test can fail.

A naive verb is a copy of the real one with a few words of it changed, in a schema of its own and over the real tables.
A change that no longer finds its words is an error, so the copies follow the verbs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import psycopg

from queues.database.sql_names import rendered
from tests.engine import Engine, Row

SCHEMA = "naive"


@dataclass
class NaiveEngine(Engine):
    """An engine whose calls go to the naive verbs, where there are any."""

    verbs: frozenset[str] = frozenset()

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        return super().rows(self._naive(statement), *parameters)

    def value(self, statement: str, *parameters: Any) -> Any:
        return super().value(self._naive(statement), *parameters)

    def _naive(self, statement: str) -> str:
        return redirected(statement, self.verbs)


@dataclass
class NaiveVerbs:
    """Installs naive copies; the fixture drops them."""

    connection: psycopg.Connection[Any]
    verbs: set[str] = field(default_factory=set)

    def install(self, verb: str, changes: dict[str, str]) -> None:
        """Copy a verb with these words changed; it calls the naive copies that were installed before."""
        source = changed(definition(self.connection, verb), changes)
        source = source.replace(f"FUNCTION signalbox.{verb}(", f"FUNCTION {SCHEMA}.{verb}(", 1)
        self.connection.execute(redirected(source, frozenset(self.verbs)).encode())
        self.verbs.add(verb)

    def engine(self, engine: Engine, connection: psycopg.Connection[Any] | None = None) -> NaiveEngine:
        """Engine for the same queue with naive verbs."""
        return NaiveEngine(connection or engine.connection, engine.queue, engine.queue_id, frozenset(self.verbs))


def definition(connection: psycopg.Connection[Any], verb: str) -> str:
    """The statement that makes a function of the engine, as PostgreSQL has it."""
    row = connection.execute("select pg_get_functiondef(%s::regproc)", [f"signalbox.{verb}"]).fetchone()
    assert row is not None
    return str(row[0])


def changed(source: str, changes: dict[str, str]) -> str:
    """The source with every occurrence of some words replaced; each must occur. Codes may be given by their names."""
    for words, others in changes.items():
        assert rendered(words) in source, f"no longer in the source: {words}"
        source = source.replace(rendered(words), rendered(others))
    return source


def redirected(source: str, verbs: frozenset[str]) -> str:
    """The source with its calls of these verbs going to the naive copies."""
    if not verbs:
        return source
    return re.sub(rf"\bsignalbox\.({'|'.join(sorted(verbs))})\(", rf"{SCHEMA}.\1(", source)
