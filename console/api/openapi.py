"""The OpenAPI 3.1 description of the API: the routes, and the facts that hold for all routes."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse

from console.api.core.authentication import ApiKey
from console.api.core.names import wire_field
from console.api.core.problem_types import PROBLEM_TYPES
from console.api.core.responses import answer
from console.api.core.shape import HANDLE
from console.api.routes import PREFIX, api
from signalbox import Verbs

PATH = f"{PREFIX}openapi.json"
PROBLEM = "#/components/schemas/Problem"
JSON, PROBLEM_JSON = "application/json", "application/problem+json"

OF_ALL = (400, 401, 403, 405, 422, 429, 503)
OF_BODIES = (413, 415)
CONFLICTS = ("post", "patch", "delete")
ONCE = (
    "/queues",
    "/queues/{queue}/messages",
    "/queues/{queue}/messages:batch",
    "/queues/{queue}:redrive",
    "/queues/{queue}:purge",
    "/streams",
    "/streams/{stream}/messages",
    "/streams/{stream}/messages:batch",
    "/streams/{stream}/groups/{group}:commit",
)
WAITS = (429, 503)

EXAMPLES: dict[str, Any] = {
    "queue": "email-send",
    "receipt_handle": "7.123.5d12a5b4-bfe4-47c3-a44d-22060f945473",
    "message_id": "msg_123",
    "redrive_id": "redrive_17",
    "purge_id": "purge_4",
    "stream": "orders",
    "group": "billing",
}
IDEMPOTENCY_KEY: dict[str, Any] = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "description": "A repeated request with this key has no effect within a day, and gets the first answer again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    "example": "6d096e2f-9b96-41d9-a5f8-1a3f8d5427e4",
}
TAGS = {
    "queues": "Queues and their settings.",
    "messages": "Sending, receiving and settling messages.",
    "consumers": "Consumers that report what they do.",
    "streams": "Streams, and the consumer groups that read them.",
    "captures": "Tables whose changes are appended to a stream.",
    "subscriptions": "Queues that are sent copies of another queue's messages.",
    "redrives": "Dead letters that are sent again.",
    "purges": "Messages that are deleted.",
}
#: Ids of operations, by tag and function. Generators of clients name their functions after these ids.
IDS = {
    "messages.send": "sendMessage",
    "messages.send_each": "sendMessages",
    "messages.peek": "peekMessages",
    "messages.receive": "receiveMessages",
    "messages.ack": "ackMessage",
    "messages.nack": "nackMessage",
    "messages.change_visibility": "changeVisibility",
    "messages.ack_batch": "ackMessages",
    "messages.nack_batch": "nackMessages",
    "messages.change_visibility_batch": "changeVisibilities",
    "messages.message_outcome": "getMessageOutcome",
    "messages.message_outcome_anywhere": "findMessageOutcome",
    "streams.seek": "seekGroup",
    "redrives.redrive": "startRedrive",
    "redrives.browse": "listRedrives",
    "redrives.show": "getRedrive",
    "redrives.set_rate": "setRedriveRate",
    "redrives.pause": "pauseRedrive",
    "redrives.resume": "resumeRedrive",
    "redrives.cancel": "cancelRedrive",
    "purges.plan": "planPurge",
    "purges.purge": "startPurge",
    "purges.show": "getPurge",
    "purges.cancel": "cancelPurge",
}
#: The engine's verbs of routes whose function has another name.
ROUTES = {"get_queue": "describe_queue", "message_outcome_anywhere": "message_outcome"}
HEADERS = {
    "/queues/{queue}/messages/{receipt_handle}:nack": ("Signalbox-Outcome", {"enum": ["retry", "dead"]}),
    "/queues/{queue}/messages/{receipt_handle}:defer": ("Signalbox-Due-At", {"type": "string", "format": "date-time"}),
    "/queues/{queue}/messages/{receipt_handle}:change-visibility": (
        "Signalbox-Deadline",
        {"type": "string", "format": "date-time"},
    ),
}


@api.get("/openapi.json", include_in_schema=False)
async def openapi(request: HttpRequest) -> HttpResponse:
    """Serve the OpenAPI 3.1 description."""
    return answer(200, document())


@cache
def document() -> dict[str, Any]:
    """Build the whole description; it stays the same while the process runs."""
    described: dict[str, Any] = api.get_openapi_schema(path_prefix=PREFIX.removeprefix("/"))
    described["info"]["description"] = (
        "A durable message queue inside PostgreSQL. Every refusal is a problem document; names are in camelCase."
    )
    described["info"]["contact"] = {"name": "Signalbox"}
    described["info"]["license"] = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    described["servers"] = [{"url": "/", "description": "The installation that serves this document."}]
    described["components"]["schemas"]["Problem"] = _problem()
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            _complete(path.removeprefix(PREFIX.rstrip("/")), method, operation)
    _without_noise(described)
    named = {tag for operations in described["paths"].values() for one in operations.values() for tag in one["tags"]}
    described["tags"] = [{"name": name, "description": TAGS.get(name, f"{name}.")} for name in sorted(named)]
    _remove_unused(described)
    return described


def scopes() -> dict[tuple[str, str], str]:
    """Return the scope that each route requires, by method and path; ninja's description lacks it."""
    return {
        (method, PREFIX + re.sub(r"\{[^}:]*:([^}]*)\}", r"{\1}", f"{prefix}{path}").lstrip("/")): demand.scope
        for prefix, router in api._routers
        for path, view in router.path_operations.items()
        for operation in view.operations
        for demand in operation.auth_callbacks or ()
        if isinstance(demand, ApiKey)
        for method in operation.methods
    }


def _operation_id(operation: dict[str, Any]) -> str:
    """Name an operation in camelCase: by its entry of `IDS`, or else as its function."""
    function = operation["summary"].lower().replace(" ", "_")
    return IDS.get(f"{operation['tags'][0]}.{function}") or wire_field(function)


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    operation["operationId"] = _operation_id(operation)
    _simplify_body(operation)
    if text := _documentation(operation["summary"].lower().replace(" ", "_")):
        operation["summary"] = text.removesuffix(".")
        operation["description"] = f"{text} {operation.get('description', '')}".strip()
    for parameter in operation["parameters"]:
        if parameter["name"] == "receipt_handle":
            parameter["schema"]["pattern"] = HANDLE
        if parameter["name"] in EXAMPLES:
            parameter["example"] = EXAMPLES[parameter["name"]]
    if method == "post" and path in ONCE:
        operation["parameters"].append(IDEMPOTENCY_KEY)
    responses = operation["responses"]
    for status in _refusals(path, method, operation):
        responses[status] = _refusal(status)
    if path in HEADERS:
        name, schema = HEADERS[path]
        responses[204]["headers"] = {name: {"schema": schema, "required": True}}


def _simplify_body(operation: dict[str, Any]) -> None:
    """Describe an optional body by `required`, and not by a null."""
    if "requestBody" not in operation:
        return
    content = operation["requestBody"]["content"][JSON]
    alternatives = [one for one in content["schema"].get("anyOf", ()) if one != {"type": "null"}]
    if len(alternatives) == 1:
        content["schema"] = alternatives[0]


def _documentation(route: str) -> str:
    """Return the first sentence of the verb that the route calls, in the API's names; empty if it calls none."""
    verb = getattr(Verbs, ROUTES.get(route, route), None)
    sentence = re.split(r"; returns|[.;] ", inspect.getdoc(verb) or "")[0].partition("\n")[0].removesuffix(".")
    wire = re.sub(r"`([a-z_]+)`", lambda name: f"`{wire_field(name[1])}`", sentence)
    return f"{wire.replace('None:', 'null:')}." if sentence else ""


def _refusals(path: str, method: str, operation: dict[str, Any]) -> list[int]:
    names_something = "{" in path or any(one["name"] == "queue" for one in operation["parameters"])
    bodies = OF_BODIES if "requestBody" in operation else ()
    return sorted({*OF_ALL, *bodies, *([404] if names_something else []), *([409] if method in CONFLICTS else [])})


def _refusal(status: int) -> dict[str, Any]:
    kinds = [kind for kind in PROBLEM_TYPES.values() if kind.status == status]
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
            "type": {"enum": [f"/problems/{slug}" for slug in PROBLEM_TYPES]},
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


def _without_noise(value: Any) -> None:
    """Remove titles that repeat names, null defaults of fields that cannot be null, and lists of fractions."""
    if isinstance(value, dict):
        _simplify(value)
        for one in value.values():
            _without_noise(one)
    elif isinstance(value, list):
        for one in value:
            _without_noise(one)


def _simplify(schema: dict[str, Any]) -> None:
    if isinstance(schema.get("title"), str) and ("type" in schema or "anyOf" in schema or "enum" in schema):
        del schema["title"]
    if schema.get("default", 0) is None and "anyOf" not in schema:
        del schema["default"]
    if isinstance(choices := schema.get("enum"), list) and any(isinstance(one, float) for one in choices):
        del schema["enum"]
        schema.update(_number(schema, choices))


def _number(schema: dict[str, Any], choices: list[float]) -> dict[str, Any]:
    """Describe a number of a list in words: no generator has a type for a list of fractions."""
    words = f"One of {', '.join(f'{one:g}' for one in choices)}."
    text = f"{schema.get('description', '')} {words}".strip()
    return {"type": "number", "minimum": min(choices), "maximum": max(choices), "description": text}


def _remove_unused(described: dict[str, Any]) -> None:
    """Remove the schemas to which nothing refers."""
    schemas = described["components"]["schemas"]
    while unused := set(schemas) - set(re.findall(r"#/components/schemas/(\w+)", repr(described))):
        for name in unused:
            del schemas[name]
