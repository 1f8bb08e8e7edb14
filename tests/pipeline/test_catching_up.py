"""How long tasks wait for a standby; tests/failover has a real one that is behind."""

from __future__ import annotations

import pytest

from pipeline.archive import catching_up
from pipeline.errors import Behind

FAR = "FFFFFFFF/0"


def test_a_primary_is_not_waited_for(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catching_up, "PATIENCE_SECONDS", 0.0)

    catching_up.wait_until_replayed(dsn, FAR)


def test_patience_comes_to_an_end_that_names_the_setting(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    in_recovery = catching_up.HAS_REPLAYED.replace("not pg_is_in_recovery()", "false")
    monkeypatch.setattr(catching_up, "HAS_REPLAYED", in_recovery.replace("pg_last_wal_replay_lsn()", "'0/1'::pg_lsn"))
    monkeypatch.setattr(catching_up, "PATIENCE_SECONDS", 0.5)

    with pytest.raises(Behind, match="ARCHIVE_READ_URL"):
        catching_up.wait_until_replayed(dsn, FAR)
