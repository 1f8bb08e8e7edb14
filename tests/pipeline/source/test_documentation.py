"""The examples of docs/spark.md run as they stand there."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg
import pytest
from pyspark.sql import SparkSession

import signalbox.spark
from signalbox import Client

PAGE = Path(__file__).parents[3] / "docs" / "spark.md"

pytestmark = pytest.mark.timeout(600)


def test_the_import_alone_enters_the_format_in_the_active_session(monkeypatch: pytest.MonkeyPatch) -> None:
    active = mock.Mock()
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: active)

    importlib.reload(signalbox.spark)

    active.dataSource.register.assert_called_once_with(signalbox.spark.SignalboxSource)


def test_the_examples_work(
    source: Any, url: str, connect: Callable[..., psycopg.Connection[Any]], tmp_path: Path, capfd: Any
) -> None:
    client = Client(connect())
    for queue in ("orders", "billing"):
        client.create_queue(queue)
    client.create_stream("events")
    client.send_batch("orders", [{"customer": "ann"}, {"customer": "ann"}, {"customer": "bob"}])
    client.append_batch("events", [{"n": 1}, {"n": 2}], keys=["k", None])
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(examples) == 3

    names = {"spark": source, "url": url, "folder": str(tmp_path)}
    for example in examples:
        exec(example, names)

    assert {tuple(row) for row in names["waiting"].collect()} == {("ann", 2), ("bob", 1)}
    assert sorted(row[0] for row in source.read.parquet(f"{tmp_path}/events").select("payload").collect()) == [
        '{"n": 1}',
        '{"n": 2}',
    ]
    (message,) = client.receive("billing", 10)
    assert (message.payload, message.group_id) == ({"n": 1}, "k")
