"""The TypeScript client is generated, compiled and tested by its own tools, and walks a message's life."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from console.api.core.problem_types import PROBLEM_TYPES

SOURCES = Path(__file__).parents[3] / "clients" / "typescript"
LEFT_OUT = shutil.ignore_patterns("node_modules", "dist", "openapi.*")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory, openapi: Path) -> Path:
    """Install what the lock file names, generate the types from our document, and compile."""
    folder = tmp_path_factory.mktemp("client") / "typescript"
    shutil.copytree(SOURCES, folder, ignore=LEFT_OUT)
    shutil.copy(openapi, folder)
    run(folder, "npm", "ci")
    run(folder, "npm", "run", "generate")
    run(folder, "npm", "run", "build")
    return folder


def run(folder: Path, *command: str, **variables: str) -> str:
    ended = subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, f"{' '.join(command)}\n{ended.stdout[-8_000:]}\n{ended.stderr[-4_000:]}"
    return ended.stdout


@pytest.mark.timeout(900)
def test_its_own_tests_pass_against_a_console(package: Path, console: dict[str, str]) -> None:
    said = run(package, "npm", "test", **console)

    passed = re.search(r"^\S* ?pass (\d+)$", said, re.MULTILINE)
    assert passed, said
    assert int(passed[1]) >= 1


@pytest.mark.timeout(900)
def test_errors_are_typed_by_what_the_server_refuses(package: Path) -> None:
    """The compiler accepts each type of refusal, and no other."""
    known = "\n".join(f'isRefused(null, "{problem.slug}");' for problem in PROBLEM_TYPES.values())
    (package / "src" / "types.ts").write_text(f'import {{ isRefused }} from "./index.js";\n{known}\n')
    run(package, "npx", "tsc", "--noEmit")
    (package / "src" / "types.ts").write_text('import { isRefused } from "./index.js";\nisRefused(null, "no-such");\n')
    with pytest.raises(AssertionError, match="TS2345"):
        run(package, "npx", "tsc", "--noEmit")


def test_the_package_has_compiled_files_alone(package: Path) -> None:
    files = run(package, "npm", "pack", "--dry-run", "--json")

    packed = set(re.findall(r'"path": "([^"]+)"', files))
    assert {"package.json", "README.md", "dist/index.js", "dist/index.d.ts", "dist/openapi.d.ts"} <= packed
    assert not [name for name in packed if name.startswith(("src/", "test/", "node_modules/"))]


@pytest.mark.parametrize("folder", [SOURCES, Path(__file__).parent / "lints"], ids=lambda folder: folder.name)
def test_the_lock_files_name_no_registry(folder: Path) -> None:
    assert '"resolved"' not in (folder / "package-lock.json").read_text()
