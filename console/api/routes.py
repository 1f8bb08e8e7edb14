"""The router of the API, and the answers to errors in any route."""

from __future__ import annotations

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.urls import register_converter
from django.urls.converters import StringConverter
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from console.api.captures import routes as captures
from console.api.core.disconnects import ClientGone
from console.api.core.problems import Problem, problem_of
from console.api.core.request_body import StrictParser
from console.api.core.shape import invalid
from console.api.messages import peeking
from console.api.purges import routes as purges
from console.api.queues import routes as queues
from console.api.redrives import routes as redrives
from console.api.streams import routes as streams
from console.api.subscriptions import routes as subscriptions


class SegmentConverter(StringConverter):
    """A part of an address up to the next slash, or to the colon before a verb."""

    regex = "[^/:]+"


PREFIX = "/v1/"

register_converter(SegmentConverter, "segment")

api = NinjaAPI(
    title="Signalbox",
    version="1",
    description="A durable message queue inside PostgreSQL.",
    docs_url=None,
    openapi_url=None,
    parser=StrictParser(),
    urls_namespace="api",
)
for router in (
    *(queues.router, peeking.router, queues.consumers, redrives.router, purges.router, streams.router),
    *(subscriptions.router, captures.router),
):
    api.add_router("", router)


@api.exception_handler(Exception)
def refuse(_: HttpRequest, error: Exception) -> HttpResponse:
    """Answer every error of a route with a problem document."""
    if isinstance(error, ClientGone):
        raise error
    if isinstance(error, ValidationError):
        return invalid(error.errors).response()
    if isinstance(error, HttpError):
        known = error.__cause__
        return (known if isinstance(known, Problem) else Problem("unreadable-request", str(error))).response()
    if isinstance(error, SuspiciousOperation):
        return Problem("unreadable-request", "The address has too many parameters.").response()
    return problem_of(error).response()


for known in (ValidationError, HttpError):
    api.add_exception_handler(known, refuse)
