"""The description of the API as OpenAPI 3.1: what the routes say, and what is true of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse

from console.api.answers import answer
from console.api.kinds import KINDS
from console.api.routes import PREFIX, api
from console.api.wire.shape import HANDLE

PATH = f"{PREFIX}openapi.json"
PROBLEM = "#/components/schemas/Problem"
JSON, PROBLEM_JSON = "application/json", "application/problem+json"

OF_ALL = (400, 401, 403, 405, 422, 429, 503)
OF_BODIES = (413, 415)
OF_NAMED = (404,)
CONFLICTS = ("post", "patch", "delete")
ONCE = (
    "/queues",
    "/queues/{queue}/messages",
    "/queues/{queue}/messages:batch",
    "/queues/{queue}:redrive",
    "/queues/{queue}:purge",
)
WAITS = (429, 503)

EXAMPLES: dict[str, Any] = {
    "queue": "email-send",
    "receipt_handle": "7.123.5d12a5b4-bfe4-47c3-a44d-22060f945473",
    "message_id": "msg_123",
    "redrive_id": "redrive_17",
    "purge_id": "purge_4",
}
HEADERS = {
    "/queues/{queue}/messages/{receipt_handle}:nack": ("Signalbox-Outcome", {"enum": ["retry", "dead"]}),
    "/queues/{queue}/messages/{receipt_handle}:change-visibility": (
        "Signalbox-Deadline",
        {"type": "string", "format": "date-time"},
    ),
}


@api.get("/openapi.json", include_in_schema=False)
async def openapi(request: HttpRequest) -> HttpResponse:
    """The description of the API, as OpenAPI 3.1."""
    return answer(200, document())


@cache
def document() -> dict[str, Any]:
    """The whole description; routes are the same for as long as the process lives."""
    described: dict[str, Any] = api.get_openapi_schema(path_prefix=PREFIX.removeprefix("/"))
    described["info"]["description"] = (
        "A durable message queue inside PostgreSQL. Every refusal is a problem document; names are in camelCase."
    )
    described.pop("servers", None)
    described["components"]["schemas"]["Problem"] = _problem()
    for path, method, operation in _operations(described):
        _complete(path.removeprefix(PREFIX.rstrip("/")), method, operation)
    _without_noise(described)
    return described


def _operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    for parameter in operation["parameters"]:
        if parameter["name"] == "receipt_handle":
            parameter["schema"]["pattern"] = HANDLE
        if parameter["name"] in EXAMPLES:
            parameter["example"] = EXAMPLES[parameter["name"]]
    if method == "post" and path in ONCE:
        operation["parameters"].append(_idempotency_key())
    responses = operation["responses"]
    for status in _refusals(path, method, operation):
        responses[status] = _refusal(status)
    if path in HEADERS:
        name, schema = HEADERS[path]
        responses[204]["headers"] = {name: {"schema": schema, "required": True}}


def _refusals(path: str, method: str, operation: dict[str, Any]) -> list[int]:
    found = set(OF_ALL)
    if "{" in path or "queue" in {one["name"] for one in operation["parameters"]}:
        found |= set(OF_NAMED)
    if "requestBody" in operation:
        found |= set(OF_BODIES)
    if method in CONFLICTS:
        found.add(409)
    return sorted(found)


def _refusal(status: int) -> dict[str, Any]:
    kinds = [kind for kind in KINDS.values() if kind.status == status]
    response: dict[str, Any] = {
        "description": "; ".join(f"{kind.title} (`{kind.slug}`)" for kind in kinds),
        "content": {PROBLEM_JSON: {"schema": {"$ref": PROBLEM}}},
    }
    if status in WAITS:
        response["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
    if status == 401:
        response["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}, "required": True}}
    return response


def _problem() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "type": "object",
        "description": "A refusal, as RFC 9457 has it; further members belong to its type.",
        "properties": {
            "type": {"enum": [f"/problems/{slug}" for slug in KINDS]},
            "title": text,
            "status": {"type": "integer"},
            "detail": text,
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "field": {"type": "string", "examples": ["messages[3].delaySeconds"]},
                        "detail": text,
                    },
                    "required": ["field", "detail"],
                },
            },
        },
        "required": ["type", "title", "status", "detail"],
    }


def _idempotency_key() -> dict[str, Any]:
    return {
        "in": "header",
        "name": "Idempotency-Key",
        "required": False,
        "description": "Repeated within a day, the request is answered as the first time and has no further effect.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
        "example": "6d096e2f-9b96-41d9-a5f8-1a3f8d5427e4",
    }


def _without_noise(value: Any) -> None:
    """Titles that only repeat names, and defaults of null where null cannot be given."""
    if isinstance(value, dict):
        if isinstance(value.get("title"), str) and ("type" in value or "anyOf" in value or "enum" in value):
            del value["title"]
        if value.get("default", 0) is None and "anyOf" not in value:
            del value["default"]
        for one in value.values():
            _without_noise(one)
    elif isinstance(value, list):
        for one in value:
            _without_noise(one)
