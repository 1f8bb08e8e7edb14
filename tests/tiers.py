"""The two tiers of tests, and which tests share a process.

A test is part of the proof by its folder (tests/proof) or by the marker `proof`; all others are fast. Every property
is tried on few examples in the fast tier and on many in the proof (`--hypothesis-profile=wide`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

PROOF = f"{Path(__file__).parent / 'proof'}/"
ALONE = tuple(f"tests/browser/test_{name}.py" for name in ("every_page", "focus", "hostile_text"))
"""Long files that do not wait for the rest of their folder."""
TOGETHER = ("tests/pipeline", "tests/signalbox/celery", "tests/browser", "tests/proof/outages", "tests/proof/pooler")
"""Folders whose tests run in one process: each process would need a Java, a Chromium or a server of its own."""
LONGEST_FIRST = (
    "tests/pipeline",
    *ALONE,
    "tests/browser",
    "tests/proof/demo",
    "tests/proof/fleet/test_kill_matrix_of_moves.py",
    "tests/proof/sqs/test_model.py",
    "tests/proof/package",
    "tests/proof/bench",
    "tests/signalbox/celery",
    "tests/proof/upgrade/test_upgrade.py",
    "tests/races/dead_letters/test_kill_matrix.py",
    "tests/chaos",
    "tests/proof",
    "tests/console/access",
    "tests/metrics/test_alert_delivery.py",
    "tests/races",
    "tests/test_",
)
"""What takes long begins early, and leaves no process alone at the end; the longest tests are named by hand."""

WIDE = "wide"
FEWER = 4

# A busy machine is slow, and that is no failure; what continuous integration tries is the same each time.
_patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ)
settings.register_profile("fast", _patient, max_examples=100 // FEWER)
settings.register_profile(WIDE, _patient)
settings.load_profile("fast")


def examples(wide: int) -> int:
    """Say how many examples to try a property on: `wide` in the proof, a quarter (3 at least) in the fast tier."""
    return wide if settings.get_current_profile_name() == WIDE else max(3, wide // FEWER)


def pytest_itemcollected(item: pytest.Item) -> None:
    if str(item.path).startswith(PROOF):
        item.add_marker(pytest.mark.proof)
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        item.add_marker(pytest.mark.property)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _rank(item.nodeid))


def _rank(nodeid: str) -> int:
    """Stable in what it leaves equal: files stay together, in their order."""
    return next((rank for rank, folder in enumerate(LONGEST_FIRST) if nodeid.startswith(folder)), len(LONGEST_FIRST))


class ByFile(LoadScopeScheduling):
    """Give each process whole files, so that it makes what a module shares once; and whole folders of TOGETHER."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return file if file in ALONE else next((one for one in TOGETHER if file.startswith(f"{one}/")), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    config.option.loadscopereorder = False  # the order is that of LONGEST_FIRST, not of how many tests a file has
    return ByFile(config, log)
