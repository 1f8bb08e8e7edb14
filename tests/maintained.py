"""Maintenance is of the whole installation: whatever a test does, it has ended when the test has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from queues.control import maintenance
from queues.models import Maintenance

Begin = Callable[..., Maintenance]


@pytest.fixture
def begin(commits: None) -> Iterator[Begin]:
    """Begin maintenance by Ada for an hour, unless the test sets other options."""

    def _begin(**options: Any) -> Maintenance:
        until = timezone.now() + timedelta(hours=1)
        return maintenance.begin(**{"actor": "ada", "reason": "New disks.", "until": until, **options})

    yield _begin
    maintenance.end(actor="ada")
