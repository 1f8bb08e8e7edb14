"""Every pinned version has the hashes of its files, and no address."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
MATRIX = ROOT / "tests" / "proof" / "matrix"
LOCKS = ["requirements.lock", "requirements-dev.lock", *(str(one.relative_to(ROOT)) for one in MATRIX.glob("*.lock"))]
PINNED = re.compile(r"[\w.-]+==[\w.!+-]+")
HASHED = re.compile(r"--hash=sha256:[0-9a-f]{64}")

every_lock = pytest.mark.parametrize("name", LOCKS)


def requirements(name: str) -> list[list[str]]:
    """Each requirement's words, its continued lines joined."""
    text = (ROOT / name).read_text().replace("\\\n", " ")
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


@every_lock
def test_every_version_is_pinned_with_hashes(name: str) -> None:
    found = requirements(name)

    assert len(found) > 4
    assert [words[0] for words in found if not PINNED.fullmatch(words[0])] == []
    assert [words[0] for words in found if len(words) < 2 or not all(map(HASHED.fullmatch, words[1:]))] == []


@every_lock
def test_a_lock_names_no_address(name: str) -> None:
    text = (ROOT / name).read_text()

    assert "://" not in text
    assert not re.search(r"--(extra-)?index|--find-links|--trusted", text)


def test_whatever_installs_from_a_lock_asks_for_hashes() -> None:
    installers = [ROOT / "Makefile", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs" / "run" / "deploy").rglob("*")]
    lines = [line for path in installers if path.is_file() for line in path.read_text().splitlines()]
    installs = [line for line in lines if "pip install" in line and re.search(r"requirements\S*\.lock", line)]

    assert len(installs) >= 4
    assert [line for line in installs if "--require-hashes" not in line] == []


@pytest.mark.parametrize("extra", ["server", "pipeline"])
def test_the_tests_run_on_versions_that_the_package_allows(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    words = [words[0].partition("==") for words in requirements("requirements.lock")]
    locked = {canonicalize_name(name): version for name, _, version in words}
    declared = map(Requirement, [*project["dependencies"], *project["optional-dependencies"][extra]])
    others = {one.name: one.specifier for one in declared if one.name != project["name"]}

    assert {canonicalize_name(name) for name in others} <= locked.keys()
    assert [name for name, allowed in others.items() if locked[canonicalize_name(name)] not in allowed] == []
