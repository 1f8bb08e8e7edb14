"""Redocly and Spectral, the lints that people run on an OpenAPI document, find nothing in ours."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent / "lints"
LINTS = {
    "redocly": ("lint", "--extends=recommended-strict"),
    "spectral": ("lint", "--ruleset=spectral.yaml", "--fail-severity=hint"),
}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install what the lock file names, without scripts: one of the packages reports its installation."""
    folder = tmp_path_factory.mktemp("lints") / "tools"
    shutil.copytree(TOOLS, folder, ignore=shutil.ignore_patterns("node_modules"))
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    installed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert installed.returncode == 0, installed.stderr
    return folder


def lint(tools: Path, name: str, document: Path) -> subprocess.CompletedProcess[str]:
    command, *options = LINTS[name]
    program = [tools / "node_modules" / ".bin" / name, command, document, *options]
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tools), "REDOCLY_TELEMETRY": "off"}
    return subprocess.run(program, cwd=tools, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", LINTS)
def test_a_lint_finds_nothing(tools: Path, openapi: Path, name: str) -> None:
    linted = lint(tools, name, openapi)

    assert linted.returncode == 0, linted.stdout + linted.stderr
