"""The blocks of the README run as they stand, one after the other, beside the demo."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from console.demo.scenery import QUEUES

README = (Path(__file__).parents[1] / "README.md").read_text()
ADDRESS = '"postgresql://…"'


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


@pytest.mark.usefixtures("django_db_setup")
def test_the_blocks_run(dsn: str) -> None:
    program, handler = blocks("python")
    assert ADDRESS in program
    exec(program.replace(ADDRESS, repr(dsn)), {})
    with psycopg.connect(dsn) as connection:
        (statement,) = blocks("sql")
        ((_, _, payload),) = connection.execute(statement.encode()).fetchall()
    shipped: list[Any] = []
    names: dict[str, Any] = {"ship": shipped.append}
    exec(handler, names)
    names["handle"](type("Message", (), {"payload": payload}))

    assert shipped == [42]


def test_no_block_makes_a_queue_that_the_demo_has() -> None:
    made = re.findall(r'create_queue\("([^"]+)"', README)

    assert made
    assert set(made).isdisjoint(queue.name for queue in QUEUES)
