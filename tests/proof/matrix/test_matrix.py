"""Versions beside those that all tests run on: PostgreSQL 15, the oldest Celery and psycopg, and Django 6.

The lock files have PostgreSQL 18, the newest Celery and psycopg, and Django 5.2.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from uuid import uuid4

import pytest

from tests.proof.matrix.environments import with_packages, with_postgres_15
from tests.proof.package.test_installed_package import interpreter

pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[3]
OF_THIS_PROCESS = ("PYTEST_", "SIGNALBOX_", "DJANGO_", "DATABASE_", "PYTHONPATH")

ENGINE = (
    "tests/queues/sending/test_send.py",
    "tests/queues/receiving/test_receive.py",
    "tests/queues/receiving/test_ack_and_nack.py",
    "tests/queues/receiving/test_lanes.py",
    "tests/queues/dead_letters/test_purge_and_redrive.py",
    "tests/queues/streams/test_streams.py",
)
UPGRADE = "tests/proof/upgrade/test_upgrade.py::test_the_release_before_is_upgraded_while_its_clients_are_at_work"
FAILOVER = ("tests/proof/failover/test_promotion.py", "-k", "not asynchronous")
CELERY = ("tests/signalbox/celery/test_flows.py", "tests/signalbox/celery/test_result_backend.py")
CLIENT = ("tests/signalbox/test_client.py", "tests/signalbox/test_async_client.py", "tests/signalbox/connections")


def passed_in(python: Path, *tests: str) -> int:
    """Run tests in an environment, and return how many passed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OF_THIS_PROCESS)}
    command = [python, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "--quiet", *tests]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=840, check=False)
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
    passed = re.search(r"^(\d+) passed", done.stdout, re.MULTILINE)
    assert passed, done.stdout
    return int(passed[1])


def test_the_engine_upgrades_and_fails_over_on_postgresql_15() -> None:
    assert passed_in(with_postgres_15(), *ENGINE, UPGRADE) > 80
    assert passed_in(with_postgres_15(), *FAILOVER) > 0


def test_the_oldest_celery_and_psycopg() -> None:
    assert passed_in(with_packages("oldest", sys.executable), *CELERY, *CLIENT) > 50


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
