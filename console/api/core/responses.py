"""Answers, as fast as they are simple: they are made of the engine's own values, and nothing checks them again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from django.http import HttpResponse


def answer(status: int, document: dict[str, Any], headers: dict[str, str] | None = None) -> HttpResponse:
    """A document as JSON."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    return HttpResponse(text.encode(), content_type="application/json", status=status, headers=headers)


def nothing(headers: dict[str, str] | None = None) -> HttpResponse:
    """204: it was done, and there is nothing to say."""
    return HttpResponse(status=204, headers=headers)


def moment(at: datetime | None) -> str | None:
    """ISO 8601 in UTC."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def message_name(message_id: int) -> str:
    """A message's id as it is on the wire."""
    return f"msg_{message_id}"
