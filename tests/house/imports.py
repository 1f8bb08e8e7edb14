"""The imports between the product's files, and the cycles among them; imports inside functions count."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
ROOMS = ("signalbox", "queues", "dlq", "metrics", "pipeline", "console")


def modules() -> dict[str, Path]:
    """Every module of the product, with its file."""
    files = (file for room in ROOMS for file in (PROJECT / room).rglob("*.py"))
    return {_name_of(file): file for file in files}


def imports() -> dict[str, set[str]]:
    """The modules that each module imports, wherever the import stands; those for types alone are left out."""
    known = modules()
    return {name: set(_imported(ast.parse(file.read_text()), known)) - {name} for name, file in known.items()}


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """One cycle after another; each is cut at its last import before the next is looked for."""
    graph = {name: set(names) for name, names in graph.items()}
    found = []
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle = error.args[1]  # each is imported by the next, and the last is the first again
            found.append(cycle[:-1])
            graph[cycle[1]].discard(cycle[0])
        else:
            return found


def _name_of(file: Path) -> str:
    parts = file.relative_to(PROJECT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.AST, known: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            named = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in known else node.module for name in named if {name, node.module} & known.keys())
        yield from _imported(node, known)
