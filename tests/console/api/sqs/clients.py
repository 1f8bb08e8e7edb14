"""Clients of the SQS endpoint: boto3 in both protocols, each answer checked against botocore's own service model."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.model import ListShape, MapShape, Shape, StructureShape

REGION = "eu-central-1"
PLAIN = {"string": str, "integer": int, "long": int, "boolean": bool, "blob": bytes}

# The names in the query protocol, which botocore's model of today no longer has.
MEMBERS = {
    "AttributeNames": "AttributeName",
    "MessageSystemAttributeNames": "MessageSystemAttributeName",
    "MessageAttributeNames": "MessageAttributeName",
    "TagKeys": "TagKey",
    "Tags": "Tag",
    "tags": "Tag",
    "Attributes": "Attribute",
    "MessageAttributes": "MessageAttribute",
    "MessageSystemAttributes": "MessageSystemAttribute",
    "Messages": "Message",
    "QueueUrls": "QueueUrl",
    "queueUrls": "QueueUrl",
    "AWSAccountIds": "AWSAccountId",
    "Actions": "ActionName",
    "Failed": "BatchResultErrorEntry",
    "Results": "ListMessageMoveTasksResultEntry",
}


@dataclass(frozen=True)
class Credentials:
    url: str
    access_key_id: str
    secret: str


def client(credentials: Credentials, protocol: str = "json") -> Any:
    """A client of boto3 whose answers are checked against the model."""
    session = botocore.session.get_session()
    if protocol == "query":
        loader = session.get_component("data_loader")
        session.register_component("data_loader", _Loader(loader))
    made = boto3.Session(botocore_session=session).client(
        "sqs",
        endpoint_url=credentials.url,
        region_name=REGION,
        aws_access_key_id=credentials.access_key_id,
        aws_secret_access_key=credentials.secret,
        config=Config(retries={"total_max_attempts": 1}, read_timeout=60),
    )
    made.meta.events.register("after-call.sqs.*", _check_answer)
    return made


def _check_answer(parsed: dict[str, Any], model: Any, **_: Any) -> None:
    if model.output_shape is not None and "Error" not in parsed:
        values = {name: value for name, value in parsed.items() if name != "ResponseMetadata"}
        lists = [name for name, shape in model.output_shape.members.items() if isinstance(shape, ListShape)]
        values = {name: [] for name in lists} | values  # SQS leaves empty lists out, also those that the model requires
        check(model.output_shape, values, model.name)


def check(shape: Shape, value: Any, where: str) -> None:
    """Check a value against a shape of botocore: required members, no others, and types."""
    if isinstance(shape, StructureShape):
        assert isinstance(value, dict), where
        assert set(shape.required_members) <= set(value), f"{where} lacks {set(shape.required_members) - set(value)}"
        for name, one in value.items():
            check(shape.members[name], one, f"{where}.{name}")
    elif isinstance(shape, ListShape):
        for one in value:
            check(shape.member, one, where)
    elif isinstance(shape, MapShape):
        for name, one in value.items():
            check(shape.key, name, where)
            check(shape.value, one, f"{where}.{name}")
    else:
        assert isinstance(value, PLAIN[shape.type_name]), f"{where} is {value!r}"
        assert not shape.metadata.get("enum") or value in shape.metadata["enum"], f"{where} is {value!r}"


class _Loader:
    """The loader of botocore's models, which gives SQS's model as of the query protocol."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def load_service_model(self, service: str, kind: str, *rest: Any, **named: Any) -> Mapping[str, Any]:
        model = self._loader.load_service_model(service, kind, *rest, **named)
        return _query_model(model) if (service, kind) == ("sqs", "service-2") else model


def _query_model(model: Mapping[str, Any]) -> Mapping[str, Any]:
    model = deepcopy(model)
    model["metadata"] |= {"protocol": "query", "protocols": ["query"], "xmlNamespace": QUERY_NAMESPACE}
    model["metadata"].pop("awsQueryCompatible")
    for operation, facts in model["operations"].items():
        if "output" in facts:
            facts["output"]["resultWrapper"] = f"{operation}Result"
    for name, shape in model["shapes"].items():
        for member, facts in shape.get("members", {}).items():
            _name(name, member, facts)
        if shape["type"] == "map":
            words = ("Key", "Value") if name == "TagMap" else ("Name", "Value")
            shape["key"]["locationName"], shape["value"]["locationName"] = words
        if shape["type"] == "list":
            shape["flattened"] = True
    return model


QUERY_NAMESPACE = "http://queue.amazonaws.com/doc/2012-11-05/"


def _name(shape: str, member: str, facts: dict[str, Any]) -> None:
    batch = shape.removesuffix("Request").removesuffix("Result")
    if member == "Entries":
        facts["locationName"] = f"{batch}RequestEntry"
    elif member == "Successful":
        facts["locationName"] = f"{batch}ResultEntry"
    elif member in MEMBERS:
        facts["locationName"] = MEMBERS[member]
