"""Hostile text stays text in files, metrics and logs: one cell, one label, one line."""

from __future__ import annotations

import csv
import io
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from dlq.export import files
from metrics.exposition.pages import render_fleet, render_queues
from metrics.reading.fleet import read_fleet
from signalbox.errors import QueueNotFound
from signalbox.logs import JsonFormatter, TextFormatter, formatters
from tests.console.browsers import Browser
from tests.console.security.corpus import LINES
from tests.console.security.scenes import Scene
from tests.metrics.exposition import Exposition

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
EXPORTS = [
    "/exports/dead-letters?q=queue:{queue}",
    "/exports/messages/{queue}?state=leased",
    "/exports/audit?q=queue:{queue}",
]


@pytest.fixture
def scene(scene_of: Callable[[str], Scene]) -> Scene:
    return scene_of(LINES)


def exported(browser: Browser, path: str, form: str, scene: Scene) -> str:
    answer = browser.get(f"{path.format(queue=scene.engine.queue)}&format={form}")
    assert answer.status_code == 200
    assert "attachment" in answer["Content-Disposition"]
    return b"".join(answer.streaming_content).decode()


def texts(document: Any) -> list[str]:
    """Every text of a document, however deep."""
    if isinstance(document, dict):
        return [*document, *texts(list(document.values()))]
    if isinstance(document, list):
        return [text for one in document for text in texts(one)]
    return [document] if isinstance(document, str) else []


def test_files_keep_rows_apart_and_hold_no_formula(scene: Scene, sign_in: Callable[[str], Browser]) -> None:
    browser = sign_in("superuser")
    for path in EXPORTS:
        table = list(csv.reader(io.StringIO(exported(browser, path, "csv", scene), newline="")))
        documents = [json.loads(line) for line in exported(browser, path, "ndjson", scene).split("\n") if line]

        assert {len(row) for row in table} == {len(table[0])}, path
        assert [cell for row in table for cell in row if cell.startswith(FORMULA)] == [], path
        assert documents, path
        assert any(LINES in texts(document) for document in documents), path


def test_without_the_defence_formulas_would_be_there(
    scene: Scene, sign_in: Callable[[str], Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "defused", lambda text: text)

    table = csv.reader(io.StringIO(exported(sign_in("superuser"), EXPORTS[0], "csv", scene), newline=""))

    assert [cell for row in table for cell in row if cell.startswith(FORMULA)]


def test_labels_of_metrics_keep_series_apart(scene: Scene) -> None:
    fleet = read_fleet()

    text = render_fleet(fleet) + render_queues(fleet)[0]

    names = {name for name, _ in Exposition.parse(text).samples}
    tenants = {dict(labels).get("tenant", "") for _, labels in Exposition.parse(text).samples}
    assert not [name for name in names if "forged" in name]
    assert [tenant for tenant in tenants if tenant.endswith(LINES)]


def record() -> logging.LogRecord:
    """Longest foreign text that a log line can hold."""
    try:
        raise QueueNotFound(LINES)
    except QueueNotFound as error:
        failure = (type(error), error, error.__traceback__)
    made = logging.LogRecord("shop", logging.WARNING, "here.py", 1, "Failed: %s", (LINES,), failure)
    made.trace_id = LINES
    return made


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()], ids=["text", "json"])
def test_logs_keep_lines_apart(formatter: logging.Formatter) -> None:
    said = formatter.format(record())

    assert "\x1b" not in said
    assert len(said.split("\n")) == (3 if isinstance(formatter, TextFormatter) else 1)  # what, where, why


def test_without_the_defence_lines_would_be_forged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatters, "_in_one_line", lambda text: text)

    assert len(TextFormatter().format(record()).split("\n")) > 3
