"""Modules outside of `queues/` with SQL over the engine's tables. The list in engine_sql.txt only shrinks.

Run `python -m tests.house.engine_sql --write` after statements moved into `queues/`.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
LISTED = Path(__file__).with_name("engine_sql.txt")
ROOMS = ("dlq", "metrics", "pipeline", "console")
_CREATED = re.compile(r"create (?:unlogged )?(?:table|view)(?: if not exists)? signalbox\.(\w+)", re.IGNORECASE)
_MODEL = re.compile(r'db_table = "(\w+)"')
_NAMED = re.compile(r"\bsignalbox\.(\w+)")


def engine_tables() -> set[str]:
    """The names of every table and view that `queues/` owns."""
    room = PROJECT / "queues"
    created = {name for file in room.rglob("*.sql") for name in _CREATED.findall(file.read_text())}
    return created | {name for file in room.rglob("*models.py") for name in _MODEL.findall(file.read_text())}


def modules_with_engine_sql() -> list[str]:
    """The modules of the rooms above the engine whose strings name a table or a private function of the engine."""
    tables = engine_tables()
    files = sorted(file for room in ROOMS for file in (PROJECT / room).rglob("*") if file.suffix in (".py", ".sql"))
    return [str(file.relative_to(PROJECT)) for file in files if _names(file) & tables or _private(_names(file))]


def engine_sql_modules_listed() -> list[str]:
    """The modules that still may hold such SQL."""
    return LISTED.read_text().split()


def _names(file: Path) -> set[str]:
    """Return what stands behind `signalbox.` in SQL files, and in strings of Python that are no docstrings."""
    text = file.read_text()
    return set(_NAMED.findall(text if file.suffix == ".sql" else "\n".join(_strings(ast.parse(text)))))


def _strings(tree: ast.Module) -> list[str]:
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone]
    return [node.value for node in constants if isinstance(node.value, str)]


def _private(names: set[str]) -> bool:
    return any(name.startswith("_") for name in names)


if __name__ == "__main__":
    found = modules_with_engine_sql()
    if "--write" in sys.argv:
        LISTED.write_text("\n".join(found) + "\n")
    sys.stdout.write("\n".join(found) + "\n")
