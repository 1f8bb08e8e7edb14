"""The API against its own description: requests made up by schemathesis, good and bad, and what the server answers."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, settings
from pytest_django import DjangoDbBlocker
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.generation import GenerationMode

from console.access.api_keys import keys
from console.api.openapi import document
from tests.console.servers import Server

EXAMPLES = 10  # of each call
ANSWERED_ONE_BY_ONE = {"POST /queues/{queue}/messages:batch"}
"""One bad message among others is answered in its result, and not by a status."""
SAID_WHOLLY = {
    "GET /queues/{queue}",
    "POST /queues/{queue}/consumers",
    "POST /queues/{queue}/messages",
    "POST /queues/{queue}/messages:batch",
    "POST /queues/{queue}/messages:receive",
    "POST /queues/{queue}/messages:change-visibility",
    "POST /queues/{queue}/messages/{receipt_handle}:ack",
    "POST /queues/{queue}/messages/{receipt_handle}:change-visibility",
    "GET /queues/{queue}/messages/{message_id}",
}
"""Calls of which every request that the description allows is taken."""

generation = GenerationConfig(allow_x00=False, codec="utf-8", deterministic=True)
described = schemathesis.openapi.from_dict(
    json.loads(json.dumps(document())),
    config=SchemathesisConfig(projects=ProjectsConfig(default=ProjectConfig(generation=generation))),
)


@pytest.fixture(scope="module")
def whole_key(api_server: Server, django_db_blocker: DjangoDbBlocker) -> str:
    with django_db_blocker.unblock():
        return keys.create("conformance", "*", actor="test").text


@pytest.fixture
def queue(dsn: str) -> str:
    """A queue with something in it, for requests that are right; of each call its own, since some configure it."""
    name = f"conformance-{uuid4().hex[:8]}"
    with psycopg.connect(dsn) as connection:
        connection.execute("select signalbox.create_queue(%s)", [name])
        connection.execute("select signalbox.send(%s, '{}') from generate_series(1, 100)", [name])
    return name


@described.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@pytest.mark.timeout(600)
def test_the_server_does_what_the_description_says(
    case: schemathesis.Case, api_server: Server, whole_key: str, queue: str
) -> None:
    assume(_asks_once_for_what_there_is(case))
    right = case.meta is None or case.meta.generation.mode == GenerationMode.POSITIVE
    if right and "queue" in case.path_parameters:
        case.path_parameters["queue"] = queue
    if right and isinstance(case.body, dict) and "waitSeconds" in case.body:
        case.body["waitSeconds"] = 0  # what is wrong must stay wrong
    case.headers.pop(
        "Idempotency-Key", None
    )  # one of another request is refused, and so is the example the second time
    case.call_and_validate(
        base_url=api_server.url,
        headers={"Authorization": f"Bearer {whole_key}"},
        excluded_checks=_beyond_the_description(case),
        timeout=120,
    )


def _asks_once_for_what_there_is(case: schemathesis.Case) -> bool:
    """Parameters of the query; as usual on the web, unknown names are ignored and the last value of a name counts."""
    asked, known = case.query or {}, {one.name for one in case.operation.query}
    return {*asked} <= known and all(isinstance(one, str | int | float | None) for one in asked.values())


def _beyond_the_description(case: schemathesis.Case) -> list[Any]:
    """Checks of what no JSON Schema says: which settings go together, which cursor a page gave, what a plan showed."""
    said = f"{case.method.upper()} {case.operation.path.removeprefix('/v1')}"
    names = ["negative_data_rejection"] if said in ANSWERED_ONE_BY_ONE else []
    if said not in SAID_WHOLLY:
        names.append("positive_data_acceptance")
    return [schemathesis.checks.CHECKS.get_one(name) for name in names]
