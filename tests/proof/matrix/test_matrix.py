"""Versions beside those that all tests run on: PostgreSQL 15, the oldest Celery and psycopg, and Django 6.

The lock files have PostgreSQL 18, the newest Celery and psycopg, and Django 5.2.
"""

from __future__ import annotations

import os
import subprocess
from importlib import metadata
from pathlib import Path
from uuid import uuid4

import pytest

from tests.proof.matrix.environments import with_packages
from tests.proof.package.test_installed_package import interpreter

pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[3]


def test_the_other_end_of_each_range_is_what_all_tests_run_on() -> None:
    assert metadata.version("celery") >= "5.7"
    assert metadata.version("psycopg") >= "3.3"
    assert metadata.version("Django").startswith("5.2.")


def test_tasks_of_django_6(dsn: str, tmp_path: Path) -> None:
    python = interpreter("3.12") or interpreter("3.13")
    if python is None:
        pytest.skip("Django 6 needs Python 3.12")
    walk = subprocess.run(
        [
            with_packages("django6", python),
            "-m",
            "tests.proof.matrix.walk_through_tasks",
            f"six-{uuid4().hex[:8]}",
            tmp_path,
        ],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.proof.matrix.settings_of_tasks", "DATABASE_URL": dsn},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert walk.returncode == 0, walk.stderr[-4_000:]
    assert walk.stdout.startswith("6.")
