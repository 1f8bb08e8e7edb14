"""Commands, variables and paths in the files of docs/run/deploy exist."""

from __future__ import annotations

import configparser
import json
import re
from pathlib import Path

import pytest
import yaml

from signalbox.cli.main import _parser
from signalbox.cli.server import PARTS
from tools.bill_of_materials import document

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "docs" / "run" / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))


def section(unit: Path) -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(unit)
    return parser["Service"]


def part_of(words: list[str]) -> str:
    """The part that a command of `signalbox` runs, as the command line reads it."""
    args = _parser().parse_args(words)
    assert args.command == "server"
    return str(args.part)


def test_there_is_a_unit_for_each_part_and_it_runs_that() -> None:
    for unit in UNITS:
        program, *arguments = section(unit)["ExecStart"].split()
        assert program == "/opt/signalbox/bin/signalbox"
        assert unit.stem == f"signalbox-{part_of(arguments)}"
    assert {unit.stem.removeprefix("signalbox-") for unit in UNITS} == set(PARTS)


def test_the_composition_runs_parts_of_the_image() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    commands = {name: service["command"] for name, service in services.items() if service["image"] == "signalbox"}

    assert commands.pop("migrate") == ["migrate"]
    assert {name: part_of(words) for name, words in commands.items()} == {name: name for name in commands}
    assert {"console", "upkeep", "jobs"} == set(commands)


def test_the_image_copies_what_there_is_and_runs_a_part() -> None:
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    copied = [line.split()[1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    (command,) = [json.loads(line.removeprefix("CMD ")) for line in lines if line.startswith("CMD ")]

    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert 'ENTRYPOINT ["signalbox"]' in lines
    assert part_of(command) == "console"


def test_the_bill_of_materials_names_each_locked_package() -> None:
    described = document()
    locked = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.M)

    assert {one["name"] for one in described["components"]} == set(locked)
    assert all(one["purl"].startswith("pkg:pypi/") for one in described["components"])
    assert described["metadata"]["component"]["name"] == "signalbox-queue"


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
