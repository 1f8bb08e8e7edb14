"""Waiting time of tasks for a standby; tests/failover has a real one that lags."""

from __future__ import annotations

import pytest

from pipeline.archive import yielding
from pipeline.errors import Behind

FAR = "FFFFFFFF/0"


def test_a_primary_is_not_waited_for(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yielding, "PATIENCE_SECONDS", 0.0)

    yielding.wait_until_replayed(dsn, FAR)


def test_patience_comes_to_an_end_that_names_the_setting(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    in_recovery = yielding.HAS_REPLAYED.replace("not pg_is_in_recovery()", "false")
    monkeypatch.setattr(yielding, "HAS_REPLAYED", in_recovery.replace("pg_last_wal_replay_lsn()", "'0/1'::pg_lsn"))
    monkeypatch.setattr(yielding, "PATIENCE_SECONDS", 0.5)

    with pytest.raises(Behind, match="ARCHIVE_READ_URL"):
        yielding.wait_until_replayed(dsn, FAR)
