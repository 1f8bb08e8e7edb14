"""Build of the dashboards from their sources, and the command for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from dashboards import build
from dashboards.components.keys import UnknownKeyError


def test_committed_dashboards_are_what_the_sources_give() -> None:
    assert build.outdated() == []


def test_a_build_is_repeatable() -> None:
    assert build.build() == build.build()


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the built files that a test may spoil."""
    copy = tmp_path / "built"
    shutil.copytree(build.BUILT, copy)
    monkeypatch.setattr(build, "BUILT", copy)
    return copy


def test_check_names_what_is_out_of_date_and_changes_nothing(built: Path) -> None:
    (built / "signalbox-fleet.json").write_text("{}")
    (built / "left-over.json").write_text("{}")

    with pytest.raises(CommandError, match=r"left-over\.json, signalbox-fleet\.json"):
        call_command("dashboards", "build", "--check")
    assert (built / "signalbox-fleet.json").read_text() == "{}"


def test_build_brings_the_folder_up_to_date(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (built / "signalbox-fleet.json").unlink()
    (built / "left-over.json").write_text("{}")

    call_command("dashboards")
    assert capsys.readouterr().out == "written: left-over.json, signalbox-fleet.json\n"
    call_command("dashboards", "build")
    assert capsys.readouterr().out == "up to date\n"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sources that a test may spoil."""
    copy = tmp_path / "sources"
    shutil.copytree(build.SOURCES, copy)
    monkeypatch.setattr(build, "SOURCES", copy)
    return copy


@pytest.mark.parametrize(
    ("source", "right", "wrong", "complaint"),
    [
        ("queue.yaml", "stack: true", "stacked: true", "timeseries 'Messages by state' does not know stacked"),
        ("queue.yaml", "instant: true", "instantly: true", "prometheus-query '' does not know instantly"),
        ("fleet.yaml", "refresh: 30s", "refreshed: 30s", "dashboard 'Signalbox / Fleet' does not know refreshed"),
        ("dead_letters.yaml", "content:", "contents:", "text 'Failure groups' does not know contents"),
        ("project.yaml", "all: true", "everything: true", "query-variable 'tenant' does not know everything"),
        (
            "engine.yaml",
            "          name: Alerts",
            "          named: Alerts",
            "alerts-annotation '' does not know named",
        ),
    ],
)
def test_a_key_that_no_component_knows_is_refused(
    sources: Path, source: str, right: str, wrong: str, complaint: str
) -> None:
    text = (sources / source).read_text()
    assert right in text
    (sources / source).write_text(text.replace(right, wrong))

    with pytest.raises(UnknownKeyError, match=complaint):
        build.build()
