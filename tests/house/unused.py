"""Lister of unreachable names: `python -m tests.house.unused`.

Vulture lists what no Python names. A name that a template, settings, SQL or a string of Python has is reached from
there; a command finds its methods by the names of its actions, and SQL writes codes in lower case. Names that only
a library asks for stand in unused_allowed.txt, each line a pattern and who asks.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).parents[2]
ALLOWED = Path(__file__).parent / "unused_allowed.txt"
PRODUCT = ("signalbox", "queues", "dlq", "metrics", "pipeline", "console", "dashboards", "manage.py")
DECORATORS = ["@shared_task*", "@*.connect*", "@register*", "@api.*", "@router.*", "@_of_*"]
SETTINGS = ("console/settings.py", "console/environment.py")
OTHER_SOURCES = ("templates/*.html", "*.toml", "*.sql", "dashboards/*.yaml")
WORD = re.compile(r"\w+")


def tracked(*patterns: str) -> list[Path]:
    """Paths of the files that git tracks under the patterns."""
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def named_elsewhere() -> set[str]:
    """Words of templates, settings and SQL, and of the strings of product code."""
    texts = [path.read_text() for path in tracked(*OTHER_SOURCES)]
    texts += [text for path in tracked(*PRODUCT) if path.suffix == ".py" for text in strings(path)]
    return {word for text in texts for word in WORD.findall(text)}


def strings(path: Path) -> Iterator[str]:
    """Strings of a module that are no docstrings."""
    tree = ast.parse(path.read_text())
    documentation = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documentation:
            yield node.value


def allowed() -> list[str]:
    """Patterns of names that a library asks for."""
    lines = ALLOWED.read_text().splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def unused() -> list[str]:
    """Unreachable names of the product, as `file:line kind name`."""
    vulture = Vulture(ignore_decorators=DECORATORS)
    vulture.scavenge([str(path) for path in tracked(*PRODUCT) if path.suffix == ".py"])
    elsewhere, patterns = named_elsewhere(), allowed()
    return [
        f"{path}:{item.first_lineno} {item.typ} {item.name}"
        for item in vulture.get_unused_code(min_confidence=60)
        if (path := str(item.filename.relative_to(ROOT))) not in SETTINGS
        and elsewhere.isdisjoint({item.name, item.name.lower(), item.name.removeprefix("_")})
        and not any(fnmatchcase(item.name, pattern) for pattern in patterns)
    ]


if __name__ == "__main__":
    found = unused()
    print("\n".join(found))  # noqa: T201
    sys.exit(f"{len(found)} names are unused" if found else 0)
