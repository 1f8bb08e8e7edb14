"""Documentation that cannot fall behind: what the product has is what the documents name."""

from __future__ import annotations

import re
from pathlib import Path

from queues.settings import QUOTAS, SETTINGS

ROOT = Path(__file__).parents[2]
ROOMS = "queues|dlq|metrics|pipeline|console|signalbox|tests|docs|bench|dashboards|templates"
HEAD = re.compile(r"^(\|.*\|)\n\|[-:|]+\|$", re.MULTILINE)
DOCUMENTS = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]


def text_of(*paths: Path) -> str:
    return "\n".join(path.read_text() for path in paths)


def test_every_queue_setting_is_documented_with_its_default() -> None:
    page = text_of(ROOT / "docs" / "reference" / "queue-settings.md")

    for setting in SETTINGS.values():
        row = next((line for line in page.splitlines() if line.startswith(f"| `{setting.name}`")), "")
        assert row, f"{setting.name} is not in docs/reference/queue-settings.md"
        assert f"| {_shown(setting.default)} |" in row, row


def test_every_quota_is_documented() -> None:
    page = text_of(ROOT / "docs" / "operate" / "quotas.md")

    assert [name for name in QUOTAS if f"| `{name}` |" not in page] == []


def _shown(default: float | bool | str | None) -> str:
    if default is None or isinstance(default, bool):
        return {None: "none", True: "true", False: "false"}[default]
    return default if isinstance(default, str) else f"{default:g}"


def test_every_command_is_documented() -> None:
    commands = ROOT.glob("*/management/commands/*.py")
    names = {path.stem for path in commands if not path.stem.startswith("_")}
    documents = text_of(*DOCUMENTS)

    assert {name for name in names if f"manage.py {name}" not in documents} == set()


def test_every_verb_is_documented() -> None:
    page = text_of(*(ROOT / "docs" / "reference" / "sql").glob("*.md"))
    verbs = {path.stem for path in (ROOT / "queues" / "sql").glob("*/*.sql") if not path.stem.startswith("_")}

    assert {verb for verb in verbs if f"## {verb}\n" not in page} == set()


def test_links_between_documents_lead_somewhere() -> None:
    targets = [
        (document, target)
        for document in DOCUMENTS
        for target in re.findall(r"\]\(([^)#\s]+)", document.read_text())
        if "://" not in target
    ]
    assert [f"{page}: {target}" for page, target in targets if not (page.parent / target).exists()] == []


def test_files_that_documents_name_exist() -> None:
    named = [
        (document, name)
        for document in DOCUMENTS
        for name in re.findall(rf"`((?:{ROOMS})/[\w./-]+)`", document.read_text())
    ]
    assert [f"{page}: {name}" for page, name in named if not (ROOT / name).exists()] == []


def test_no_page_is_longer_than_200_lines() -> None:
    pages = {page.relative_to(ROOT): len(page.read_text().splitlines()) for page in (ROOT / "docs").rglob("*.md")}

    assert {str(page): lines for page, lines in pages.items() if lines > 200} == {}


def test_every_page_begins_with_its_title() -> None:
    texts = {page: re.sub(r"^<!--.*?-->\s*", "", page.read_text()) for page in (ROOT / "docs").rglob("*.md")}

    assert [str(page) for page, text in texts.items() if not text.startswith("# ")] == []


def test_every_column_of_a_guide_has_a_name() -> None:
    pages = [page for folder in ("start", "use", "operate", "run") for page in (ROOT / "docs" / folder).glob("*.md")]
    heads = [(page.name, head) for page in pages for head in HEAD.findall(page.read_text())]

    assert len(heads) > 100
    assert [(page, head) for page, head in heads if "" in (cell.strip() for cell in head.strip("|").split("|"))] == []
