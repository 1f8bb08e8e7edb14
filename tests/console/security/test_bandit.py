"""Bandit finds nothing in the product that was not reviewed.

Ruff has most of the same rules under the same numbers (S608 is bandit's B608), so an exception is said once, for both:
by `noqa` with its reason at the line, or in pyproject.toml for a folder.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
ROOMS = ["console", "pipeline", "metrics", "dlq", "queues", "signalbox"]
# Rules that bandit splits, and ruff does not.
SAME_AS = {"B703": "B308"}
NO_FILES = "the token in names of files; there are none"
PARTS = "put together from texts of this file; every value is a parameter"
# Findings that ruff does not report: number, place and reason. A new one needs a review.
LOOKED_AT = {
    ("B608", "dlq/search/samples.py"): (1, PARTS),
    ("B608", "queues/database/names.py"): (4, PARTS),
    ("B608", "queues/dead_letters/ids.py"): (6, PARTS),
    ("B608", "queues/dead_letters/rows.py"): (4, PARTS),
    ("B608", "queues/messages/lists.py"): (4, PARTS),
    ("B308", "console/messages/payloads.py"): (3, "constants; what a message holds goes through format_html"),
    ("B310", "console/server/starting.py"): (1, "its own address on this machine"),
    ("B106", "pipeline/jobs/runs.py"): (1, NO_FILES),
    ("B106", "pipeline/replay/replaying.py"): (1, NO_FILES),
    ("B105", "queues/database/url.py"): (1, "Django's name for a key"),
}


def findings(*paths: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "bandit", "-q", "-c", "pyproject.toml", "-f", "json", "-r", *paths]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    report = json.loads(ended.stdout)
    assert report["errors"] == []
    return list(report["results"])


@cache
def lines_of(path: str) -> list[str]:
    return (ROOT / path).read_text().splitlines()


def is_excepted(finding: dict[str, Any]) -> bool:
    """Return whether the statement carries a reviewed exception, by reason or by rule."""
    rule = SAME_AS.get(finding["test_id"], finding["test_id"]).replace("B", "S", 1)
    last = max(finding["line_range"])
    statement = lines_of(finding["filename"])[finding["line_range"][0] - 1 : last + 1]
    return any(re.search(rf"noqa: .*{rule}", line) for line in statement)


@pytest.mark.proof
def test_bandit_finds_nothing_new() -> None:
    unexcepted = Counter((one["test_id"], one["filename"]) for one in findings(*ROOMS) if not is_excepted(one))

    assert unexcepted == {place: number for place, (number, _) in LOOKED_AT.items()}


def test_a_fault_is_found(tmp_path: Path) -> None:
    (tmp_path / "fault.py").write_text("import pickle\n\n\ndef read(text):\n    return pickle.loads(text)\n")

    assert {one["test_id"] for one in findings(str(tmp_path))} >= {"B301"}
