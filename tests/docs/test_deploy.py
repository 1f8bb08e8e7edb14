"""Commands, variables and paths in the files of docs/run/deploy exist."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "docs" / "run" / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))


def section(unit: Path) -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(unit)
    return parser["Service"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_runs_what_there_is(unit: Path) -> None:
    program, *arguments = section(unit)["ExecStart"].split()
    installed = program.removeprefix("/opt/signalbox/")
    assert installed != program
    assert (ROOT / installed).exists()
    if arguments[0] == "manage.py":
        assert arguments[1] in get_commands()
    else:
        assert {"console.asgi:application", "console"} & set(arguments)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_gives_up_what_it_does_not_need(unit: Path) -> None:
    service = section(unit)
    assert service["User"] == "signalbox"
    assert service["NoNewPrivileges"] == "true"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""


def test_the_example_names_variables_that_are_documented() -> None:
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text()
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.M))
    named = set(re.findall(r"^([A-Z_]+)=", (DEPLOY / "environment.example").read_text(), re.M))
    assert {"DATABASE_URL", "SECRET_KEY"} < named
    assert named <= documented


def test_the_document_names_files_and_units_that_there_are() -> None:
    text = (ROOT / "docs" / "run" / "production.md").read_text()
    for unit in re.findall(r"`(signalbox-\w+)`", text):
        assert (DEPLOY / f"{unit}.service").exists(), unit
    for unit in UNITS:
        assert unit.stem in text
    for file in re.findall(r"docs/run/deploy/([\w.]+\w)", text):
        assert (DEPLOY / file).exists() or list(DEPLOY.glob(f"{file}*")), file
