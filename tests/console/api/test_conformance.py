"""The API against its own description: requests made up by schemathesis, good and bad, and what the server answers."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from pytest_django import DjangoDbBlocker
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.generation import GenerationMode

from console.api.openapi import document
from console.api_keys import keeping
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
    "POST /queues/{queue}/messages:nack",
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
        return keeping.create("conformance", "*", actor="test").text


@pytest.fixture(scope="module")
def queue(dsn: str) -> str:
    """A queue with something in it, for requests that are right."""
    with psycopg.connect(dsn) as connection:
        connection.execute("select signalbox.create_queue('conformance')")
        connection.execute("select signalbox.send('conformance', '{}') from generate_series(1, 100)")
    return "conformance"


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
    right = case.meta is None or case.meta.generation.mode == GenerationMode.POSITIVE
    if right and "queue" in case.path_parameters:
        case.path_parameters["queue"] = queue
    if isinstance(case.body, dict) and isinstance(case.body.get("waitSeconds"), int | float):
        case.body["waitSeconds"] = min(case.body["waitSeconds"], 0)
    case.headers.pop(
        "Idempotency-Key", None
    )  # one of another request is refused, and so is the example the second time
    case.call_and_validate(
        base_url=api_server.url,
        headers={"Authorization": f"Bearer {whole_key}"},
        excluded_checks=_beyond_the_description(case),
        timeout=120,
    )


def _beyond_the_description(case: schemathesis.Case) -> list[Any]:
    """Checks of what no JSON Schema says: which settings go together, which cursor a page gave, what a plan showed."""
    said = f"{case.method.upper()} {case.operation.path.removeprefix('/v1')}"
    names = ["negative_data_rejection"] if said in ANSWERED_ONE_BY_ONE else []
    if said not in SAID_WHOLLY:
        names.append("positive_data_acceptance")
    return [schemathesis.checks.CHECKS.get_one(name) for name in names]
