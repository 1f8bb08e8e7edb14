"""Tests of the choice that `make quick` makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import quick

ROOMS = [room for room in (*quick.ROOMS, "templates") if room != "bench"]  # the benchmark's tests are in the proof
FILES = [path for room in ROOMS for path in quick.files(room) if path.endswith((".py", ".sql", ".html"))]


@pytest.mark.proof
def test_a_file_of_every_folder_of_the_product_chooses_some_tests() -> None:
    of_folders = {str(Path(path).parent): path for path in FILES}

    assert len(of_folders) > 80
    assert [path for path in of_folders.values() if not quick.tests_of(path)] == []


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("tests/test_quick.py", "tests/test_quick.py"),
        ("tests/quick.py", "tests/test_quick.py"),
        ("tests/engine.py", "tests/queues/test_every_function.py"),
        ("queues/sql/ack.sql", "tests/queues/test_every_function.py"),
        ("docs/README.md", "tests/docs/test_documentation.py"),
    ],
)
def test_a_file_chooses_the_tests_that_use_it(path: str, test: str) -> None:
    assert test in quick.tests_of(path)


def test_a_test_that_is_gone_is_not_run() -> None:
    assert quick.tests_of("tests/test_that_was_deleted.py") == set()
