"""Previews of erasures that look at all there is: other tests leave more than a sample, and before ours."""

from __future__ import annotations

import pytest

from dlq.erasure import erasures
from tests.patience import PATIENCE_MILLISECONDS


@pytest.fixture
def whole_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasures, "SAMPLE_ROWS", 10**9)
    monkeypatch.setattr(erasures, "SAMPLE_MILLISECONDS", PATIENCE_MILLISECONDS)
