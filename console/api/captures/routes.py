"""/v1/captures and /v1/streams/{stream}/captures: list, create and end captures of tables."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Path, Query, Router

from console.api.captures import configuring, shapes
from console.api.core.authentication import ApiKey
from console.api.core.database import in_thread
from console.api.core.idempotency import once_in_thread
from console.api.core.responses import answer
from console.api.streams.known_streams import reached_stream

OF_STREAM = "/streams/{segment:stream}/captures"

router = Router(tags=["captures"], by_alias=True)


@router.get("/captures", auth=ApiKey("read"), response={200: shapes.Captures})
async def list_captures(request: Any, wanted: Query[shapes.CaptureListing]) -> HttpResponse:
    """List the captures of tables into streams that the API key reaches."""
    return answer(200, await in_thread(configuring.listed, request.auth, wanted.stream))


@router.post(OF_STREAM, auth=ApiKey("configure"), response={201: shapes.CaptureDocument})
async def capture_table(request: Any, stream: Path[str], wanted: shapes.NewCapture) -> HttpResponse:
    """Append each change of a table to the stream, in the transaction of the writer.

    The setting `CAPTURE_TABLES` lists the tables that API keys may capture, and for which tenants.
    """
    known = await reached_stream(request.auth, stream)
    making = (configuring.capture, request.auth, known.name, known.tenant, wanted)
    return await once_in_thread(request, lambda made: answer(201, made), *making)


@router.delete(f"{OF_STREAM}/{{segment:table}}", auth=ApiKey("configure"), response={200: shapes.CaptureEnd})
async def uncapture_table(request: Any, stream: Path[str], table: Path[str]) -> HttpResponse:
    """End the capture of a table into the stream. Events that were appended stay."""
    known = await reached_stream(request.auth, stream)
    return answer(200, {"changed": await in_thread(configuring.uncapture, request.auth, known.name, table)})
