"""The site is built strictly: each link and each anchor leads somewhere, and nothing is fetched from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.proof  # lint builds the site as well

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r"""<(?:script|img|iframe|link)[^>]+?(?:src|href)=["']?(?:https?:)?//[^"'> ]+""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}

    assert {str(page) for page in pages - built if page.name != "README"} == set()
    assert {"project/architecture", "project/contributing", "project/changelog"} <= {str(page) for page in built}


def test_the_site_can_be_searched(site: Path) -> None:
    assert "redrive" in (site / "search" / "search_index.json").read_text()


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))

    assert len(pages) > 100
    assert {found for page in pages for found in FETCHED.findall(page.read_text())} == set()
    assert [page.name for page in site.rglob("*.css") if "url(http" in page.read_text()] == []
