"""Creation, list and end of captures for the API, within the key's reach and the tables of CAPTURE_TABLES."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from console.access.api_keys import Key
from console.api.captures.shapes import CaptureDocument, NewCapture
from console.api.core.problems import Problem
from dlq.filters import parse
from dlq.masking.rules import Masking
from queues.control import captures as control


def listed(key: Key, stream: str | None) -> dict[str, Any]:
    """Return the captures into streams that the key reaches."""
    reached = [one for one in control.read_captures() if key.reaches(one.stream, one.tenant)]
    return {"captures": [document(one) for one in reached if stream in (None, one.stream)]}


def capture(key: Key, stream: str, tenant: str, wanted: NewCapture) -> dict[str, Any]:
    """Capture a table that the list of tables has for the tenant. Refuses a filter that asks for masked values."""
    if not settings.CAPTURE_TABLES.allows(wanted.table, tenant):
        raise Problem.of_field(
            "table", f"table {wanted.table!r} is not among those of CAPTURE_TABLES for the tenant of this stream"
        )
    Masking().check(parse(wanted.filter), stream)
    return document(control.capture(stream=stream, actor=key.actor, **dict(wanted)))


def uncapture(key: Key, stream: str, table: str) -> bool:
    """End the capture of a table into a stream; returns whether there was one."""
    return control.uncapture(table, stream, actor=key.actor)


def document(one: control.Capture) -> dict[str, Any]:
    """Return a capture as a document."""
    return CaptureDocument.of(one, capture_id=f"cap_{one.capture_id}")
