"""Rules of masking outlive no test: one that is left changes what others may ask for and see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq.masking.rules import MaskingRule


@pytest.fixture
def no_rules_left(commits: None) -> Iterator[None]:
    yield
    MaskingRule.objects.all().delete()
