"""A trend is said when chance would hardly make it, and the window is that of the archive."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from pipeline.analysis.analysing import Window, window_of
from pipeline.analysis.analysis_models import trend_of
from pipeline.models import ArchiveFile, Run
from tests.pipeline.conftest import Archive


@pytest.mark.parametrize(
    ("days", "trend"),
    [
        ([100, 100, 100, 100], "steady"),
        ([100, 101, 130, 104], "steady"),
        ([10, 10, 60, 60], "rising"),
        ([1, 0, 2, 1], "steady"),
        ([60, 60, 10, 10], "falling"),
        ([0, 0, 0, 40, 50], "new"),
        ([0, 0, 9, 40, 50], "rising"),
        ([40, 50, 0, 0, 0], "gone"),
        ([500], "steady"),
        ([], "steady"),
    ],
)
def test_halves_are_compared(days: list[int], trend: str) -> None:
    assert trend_of(days) == trend


def test_a_window_ends_with_the_archive(archive: Archive) -> None:
    assert window_of(30) is None
    run = Run.objects.create(
        token="t", url="/x", low=0, high=1, parts=[], state=Run.State.COMMITTED, started_by="tests"
    )
    at = datetime(2026, 3, 1, tzinfo=UTC)
    for day in (1, 20):
        ArchiveFile.objects.create(
            run=run,
            kind="settled",
            day=date(2026, 3, day),
            part=day,
            path=f"{day}",
            rows=1,
            bytes=1,
            first_at=at,
            last_at=at,
        )

    assert window_of(30) == Window(date(2026, 3, 1), date(2026, 3, 20))
    assert window_of(7) == Window(date(2026, 3, 14), date(2026, 3, 20))
    assert window_of(since=date(2026, 3, 20)) == Window(date(2026, 3, 20), date(2026, 3, 20))
    assert window_of(since=date(2026, 4, 1)) is None
    assert len(Window(date(2026, 2, 27), date(2026, 3, 2)).days) == 4
