"""Large bodies as files, for the pages of messages of queues and of streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpResponse

from console.masking import masked
from dlq.masking.masks import Rules
from queues import bodies
from queues.errors import BodyCorrupt, BodyMissing
from signalbox.messages import Body
from signalbox.payloads import binary
from signalbox.payloads.bodies import read_body
from signalbox.payloads.unreadable import decode


def large_body_file(body: Body, attributes: Mapping[str, Any], rules: Rules, name: str) -> HttpResponse:
    """Read a body from the store, compare it with its hash, mask it, and answer it as a file. Raises Http404."""
    try:
        content = read_body(body, bodies.store())
    except (BodyMissing, BodyCorrupt) as error:
        raise Http404(str(error)) from error
    return as_file(content, attributes, rules, name)


def as_file(content: bytes, attributes: Mapping[str, Any], rules: Rules, name: str) -> HttpResponse:
    """Answer a payload in JSON as a masked file; one whose attributes declare bytes as these bytes."""
    is_binary = binary.content_type_of(attributes) is not None
    found = binary.decoded(decode(content), attributes) if is_binary else None
    is_binary = isinstance(found, bytes)
    return HttpResponse(
        found if is_binary else masked.large_body(rules, content),
        content_type="application/octet-stream" if is_binary else "application/json",
        headers={
            "Content-Disposition": f'attachment; filename="{name}.{"bin" if is_binary else "json"}"',
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
        },
    )
