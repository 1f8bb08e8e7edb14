"""JSON that PostgreSQL stores and Python cannot read, put where a message has been stored already."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg
import pytest

POISONS = {
    "digits": "1" * 5000,
    "exponent": "1e5000",
    "fraction": "-0." + "1" * 5000 + "e4990",
    "nested arrays": "[" * 1000 + "]" * 1000,
    "nested objects": '{"a":' * 1000 + "1" + "}" * 1000,
}
"""By what is wrong with them."""

each_poison = pytest.mark.parametrize("poison", POISONS.values(), ids=list(POISONS))


def in_attributes(poison: str) -> str:
    """Attributes are an object."""
    return f'{{"a": {poison}}}'


def spoil(connection: psycopg.Connection[Any], message_id: int, poison: str, column: str = "payload") -> None:
    """Put it into a message that was sent, as if it had been before it was refused."""
    statements: dict[str, LiteralString] = {
        "payload": "update signalbox.message set payload = %s::jsonb where message_id = %s",
        "attributes": "update signalbox.message set attributes = %s::jsonb where message_id = %s",
    }
    changed = connection.execute(statements[column], [poison, message_id]).rowcount
    assert changed == 1


def spoil_stream(connection: psycopg.Connection[Any], stream: str, position: int, poison: str) -> None:
    """Poison message in a stream with one partition."""
    changed = connection.execute(
        "update signalbox.stream_message m set payload = %s::jsonb from signalbox.stream s"
        " where s.name = %s and m.stream_id = s.stream_id and m.position = %s",
        [poison, stream, position],
    ).rowcount
    assert changed == 1
