"""Answers made directly from the engine's values, without validation, for speed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from django.http import HttpResponse


def answer(status: int, document: dict[str, Any], headers: dict[str, str] | None = None) -> HttpResponse:
    """Return a document as JSON."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    return HttpResponse(text.encode(), content_type="application/json", status=status, headers=headers)


def nothing(headers: dict[str, str] | None = None) -> HttpResponse:
    """Return the answer 204, which has no content."""
    return HttpResponse(status=204, headers=headers)


def moment(at: datetime | None) -> str | None:
    """Return a time in ISO 8601, in UTC."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def message_name(message_id: int) -> str:
    """Return the id of a message as the API writes it."""
    return f"msg_{message_id}"
