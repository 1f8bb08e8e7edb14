"""Every class of bugs in docs/run/security.md, and every tested item, names an existing test."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/run/security.md").read_text() + (ROOT / "docs/run/security-asvs.md").read_text()
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
CLASSES = 18


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@cache
def functions_of(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def missing(text: str) -> list[str]:
    """Tests that a text names and that there are not."""
    return [
        f"{path}::{name}"
        for path, name in TEST.findall(text)
        if not (ROOT / path).exists() or (name and name not in functions_of(path))
    ]


def test_every_class_of_bugs_names_a_test_that_there_is() -> None:
    table = rows("Classes of bugs")

    assert len(table) >= CLASSES
    assert [row[0] for row in table if not TEST.search(row[2])] == []
    assert missing(PAGE) == []


def test_every_item_says_how_it_stands_and_what_is_met_says_why() -> None:
    items = rows("ASVS")

    assert len(items) >= 60
    assert [row for row in items if not re.fullmatch(r"\d+\.\d+\.\d+", row[0])] == []
    assert {row[2] for row in items} == {"tested", "met", "not met"}
    assert [row[0] for row in items if row[2] == "tested" and not TEST.search(row[3])] == []
    assert [row[0] for row in items if not row[3]] == []
    assert len({row[0] for row in items}) == len(items)


def test_a_test_that_is_gone_is_noticed() -> None:
    assert missing("`tests/console/access/test_log_in.py::test_that_never_was`") == [
        "tests/console/access/test_log_in.py::test_that_never_was"
    ]
