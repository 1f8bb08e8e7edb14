"""The doctor: each mistake has a sentence and an advice, and a healthy installation has neither."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from console.doctor import examine, server
from console.doctor.findings import ERROR, OK, WARNING, Finding
from console.doctor.server import Facts, read_facts

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.django_db


def of(subject: str, findings: Any) -> Finding:
    (found,) = [finding for finding in findings if finding.subject == subject]
    return found


def test_an_installation_as_the_tests_have_it_has_no_error_in_its_schema() -> None:
    found = {finding.subject: finding.level for finding in examine()}

    assert {"version", "disk", "postgresql", "role", "publication", "pooler", "clock", "schema"} <= set(found)
    assert found["schema"] == found["role"] == OK


@pytest.mark.parametrize(
    ("subject", "level", "changes"),
    [
        ("postgresql", ERROR, {"version_number": 140_009}),
        ("postgresql", WARNING, {"version_number": 190_000}),
        ("role", ERROR, {"owner": "somebody", "is_superuser": False}),
        ("role", ERROR, {"owner": None, "may_create": False}),
        ("role", WARNING, {"reads_all_statistics": False}),
        ("settings", ERROR, {"vacuums": False}),
        ("settings", ERROR, {"is_standby": True}),
        ("connections", WARNING, {"connections": 90, "max_connections": 100}),
        ("publication", WARNING, {"idle_slots": ["debezium"], "slots_are_unbounded": True}),
        ("publication", OK, {"publications": ["all_of_it"]}),
        ("pooler", WARNING, {"backend_pid": 0}),
    ],
)
def test_a_mistake_is_found_and_says_what_to_do(subject: str, level: str, changes: dict[str, Any]) -> None:
    facts = replace(_healthy(), **changes)

    found = of(subject, server.findings(facts))

    assert found.level == level
    assert bool(found.advice) == (level != OK)


def test_a_clock_that_is_wrong_is_found() -> None:
    facts = _healthy()

    assert of("clock", server.findings(replace(facts, now=facts.now + timedelta(minutes=2)))).level == WARNING
    assert of("clock", server.findings(facts)).level == OK


def test_a_function_that_is_not_this_releases_is_named() -> None:
    with connection.cursor() as cursor:
        cursor.execute("drop function signalbox.identify_tables()")

    found = of("schema", examine())

    assert found.level == ERROR
    assert "identify_tables" in found.sentence
    assert "migrate" in found.advice


def test_a_database_that_does_not_answer_is_an_exit_status() -> None:
    url = "postgresql://nobody@127.0.0.1:1/nothing?connect_timeout=2"
    command = [sys.executable, "manage.py", "doctor", "--json"]

    ran = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "DATABASE_URL": url}, check=False
    )

    report = json.loads(ran.stdout)
    assert (ran.returncode, report["ok"]) == (1, False)
    assert report["findings"][-1]["subject"] == "database"
    assert "DATABASE_URL" in report["findings"][-1]["advice"]


def _healthy() -> Facts:
    facts = read_facts()
    return replace(facts, idle_slots=[], publications=[], connections=1, is_superuser=True, reads_all_statistics=True)
