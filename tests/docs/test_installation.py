"""Installation instructions never fetch `signalbox` from the public index, where another project has that name."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = {".md", ".py", ".html", ".toml", ".yaml", ".sh", ""}
INSTALLS = re.compile(r"pip3? install([^`#\n]*)")
FROM_THE_INDEX = re.compile(r"signalbox([-_]queue)?(\[[^\]]*\])?([=<>~!].*)?", re.I)


def wanted(line: str) -> list[str]:
    """Names like the project's that a line would have pip fetch from an index."""
    words = [word.strip("'\"()[],.;") for found in INSTALLS.findall(line) for word in found.split()]
    return [word for word in words if FROM_THE_INDEX.fullmatch(word) or FROM_THE_INDEX.fullmatch(f"{word}]")]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("pip install signalbox", ["signalbox"]),
        ("Needs `pip install 'signalbox[http]'`.", ["signalbox[http"]),
        ("pip install -U signalbox-queue==0.1.0", ["signalbox-queue==0.1.0"]),
        ("pip install '.[http]'  # signalbox", []),
        ("pip install './dist/signalbox_queue-0.1.0-py3-none-any.whl[http]'", []),
    ],
)
def test_a_line_that_asks_the_index_is_known(line: str, found: list[str]) -> None:
    assert wanted(line) == found


def test_nothing_tells_people_to_install_from_the_index() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    paths = [ROOT / name for name in files if name and Path(name).suffix in READ]
    readable = [path for path in paths if path.is_file() and path != Path(__file__)]
    assert len(readable) > 500

    assert [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in readable
        for line in path.read_text(errors="replace").splitlines()
        if wanted(line)
    ] == []


def test_the_distribution_has_a_name_of_its_own() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "start" / "installing.md").read_text()

    assert project["name"] == "signalbox-queue"
    assert f"signalbox_queue-{project['version']}-py3-none-any.whl" in page
    assert [extra for extra in project["optional-dependencies"] if f"| `{extra}` |" not in page] == []
