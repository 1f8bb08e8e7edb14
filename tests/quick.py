"""Run the fast tests of what has changed: `make quick`, or `python -m tests.quick PATH ...` for these files.

The working tree is compared with the common ancestor with main. For a module, the tests that import it are chosen, or
those that import its importers; for any file, the folder of tests of the same name and the tests that contain its name.
The choice is a guess that saves time: `make test` decides.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
ROOMS = ("signalbox", "queues", "dlq", "metrics", "pipeline", "console", "dashboards", "bench")
FURTHEST = 3  # imports that a test may be away from a module
TELLING = 5  # characters: a shorter word is in too many tests to choose any


def main(paths: list[str]) -> int:
    changed = sorted(set(paths or changed_files()))
    chosen = sorted({test for path in changed for test in tests_of(path)})
    sys.stdout.writelines(f"{line}\n" for line in chosen or ["No test belongs to what has changed."])
    sys.stdout.flush()
    if not chosen:
        return 0
    command = [sys.executable, "-m", "pytest", "-m", "not proof", *chosen]
    ended = subprocess.run([*command, *_processes(len(chosen))], cwd=PROJECT).returncode
    return 0 if ended == pytest.ExitCode.NO_TESTS_COLLECTED else ended  # all of them are part of the proof


def _processes(files: int) -> list[str]:
    return ["--numprocesses", "logical", "--maxprocesses", "8"] if files > 8 else []  # each starts a server


def changed_files() -> list[str]:
    since = _git("merge-base", "HEAD", "main") or ["HEAD"]
    return [*_git("diff", "--name-only", since[0]), *_git("ls-files", "--others", "--exclude-standard")]


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=PROJECT, capture_output=True, text=True).stdout.split()


def tests_of(path: str) -> set[str]:
    """Choose the test files of a file of the project."""
    if _is_test(path):
        return {path} if (PROJECT / path).exists() else set()
    place = Path(path)
    return _importing(path) | _naming(place) | _of_the_folder(place) or _of_the_word(place) or _of_the_room(place)


def _is_test(path: str) -> bool:
    return path.startswith("tests/") and Path(path).name.startswith("test_") and path.endswith(".py")


def _importing(path: str) -> set[str]:
    """Choose the tests nearest to a module by imports; of a helper in tests/, all that use it."""
    importers, reached, seen = _importers(), {path}, {path}
    for _ in range(FURTHEST):
        reached = {user for one in reached for user in importers[one]} - seen
        seen |= reached
        found = {one for one in _with_helpers(reached) if _is_test(one)}
        if found:
            return found
    return set()


def _with_helpers(files: set[str]) -> set[str]:
    """Add all that use these by way of helpers in tests/."""
    importers, found, waiting = _importers(), set(files), [one for one in files if one.startswith("tests/")]
    while waiting:
        new = {user for user in importers[waiting.pop()] if user.startswith("tests/")} - found
        found |= new
        waiting.extend(new)
    return found


def _of_the_folder(path: Path) -> set[str]:
    """Choose the folder of tests of the same nouns as the file's: of console/queues/views.py tests/console/queues."""
    nouns = [part for part in path.parent.parts if part not in ("sql", "templates")]
    tries = [Path("tests", *nouns), Path("tests", "console", *nouns)]
    folder = next((place for place in tries if len(place.parts) > 2 and (PROJECT / place).is_dir()), Path("nowhere"))
    return {test for test in _texts() if Path(test).parent == folder}


def _of_the_word(path: Path) -> set[str]:
    """Choose the tests with its name in theirs: of commands/redrive.py test_redrive_command.py."""
    word = (path.parent.name if path.suffix == ".html" else path.stem).rstrip("s")
    return {test for test in _texts() if len(word) >= TELLING and word in Path(test).name and _is_product(path)}


def _of_the_room(path: Path) -> set[str]:
    """Choose all tests of the product's room."""
    room = "console" if path.parts[0] == "templates" else path.parts[0]
    return {test for test in _texts() if test.startswith(f"tests/{room}/") and _is_product(path)}


def _is_product(path: Path) -> bool:
    return path.parts[0] in (*ROOMS, "templates")


def _naming(path: Path) -> set[str]:
    """Choose the tests that contain the file's name: of a module, an SQL function, a template or a page."""
    words = {path.name, path.as_posix()} | ({f"signalbox.{path.stem}("} if path.suffix == ".sql" else set())
    if path.suffix == ".py":
        words = {".".join(path.with_suffix("").parts)}  # as patches and commands in strings write it
    words = {word for word in words if len(word) >= TELLING}
    found = {test for test, text in _texts().items() if any(word in text for word in words)}
    return found | {test for test in _texts() if path.suffix == ".md" and test.startswith("tests/docs/")}


@cache
def _texts() -> dict[str, str]:
    return {path: (PROJECT / path).read_text() for path in files("tests") if _is_test(path)}


@cache
def _importers() -> dict[str, set[str]]:
    """Name the files that import each file."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in [path for room in (*ROOMS, "tests") for path in files(room) if path.endswith(".py")]:
        for module in _imported(ast.parse((PROJECT / path).read_text())):
            for candidate in (f"{module}.py", f"{module}/__init__.py"):
                found[candidate].add(path)
    return found


def _imported(tree: ast.AST) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.replace(".", "/") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            module = node.module.replace(".", "/")
            yield module
            yield from (f"{module}/{alias.name}" for alias in node.names)


def files(folder: str) -> list[str]:
    """List what git knows below a folder, and what is new there."""
    return [path for path in _git("ls-files", "-co", "--exclude-standard", folder) if (PROJECT / path).exists()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
