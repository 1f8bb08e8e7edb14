"""Attributes of messages: their checks, their MD5, and how the engine's attributes hold them.

An attribute is kept under its own name, so that filters and pages find it. The member `sqs` beside them has the type of
each, the sender, and the values of those whose names mean something to the engine.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from console.api.sqs.errors import ERRORS, SqsError, invalid_parameter
from signalbox.tracing.attributes import CORRELATION_ID, TRACEPARENT, TRACESTATE

MEMBER = "sqs"
RESERVED = frozenset({MEMBER, "dead_letter", CORRELATION_ID, TRACEPARENT, TRACESTATE})
MAX_ATTRIBUTES = 10
TRACE_HEADER = "AWSTraceHeader"
TRANSPORT = {"String": b"\x01", "Number": b"\x01", "Binary": b"\x02"}

_NAME = re.compile(r"(?!\.)(?!.*\.\.)(?!.*\.$)[\w.-]{1,256}")
_TYPE = re.compile(r"(String|Number|Binary)(\.[^\x00-\x1f]{0,249})?")
_NUMBER = re.compile(r"[+-]?([0-9]{1,128}\.?[0-9]{0,128}|\.[0-9]{1,128})([eE][+-]?[0-9]{1,3})?")
_VALID_TEXT = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")

Attributes = Mapping[str, Mapping[str, Any]]


def is_valid_text(text: str) -> bool:
    """Return whether SQS accepts every character."""
    return bool(_VALID_TEXT.fullmatch(text))


def check(given: Attributes) -> None:
    """Check the attributes of a message. Raises `SqsError`, which names the attribute."""
    if len(given) > MAX_ATTRIBUTES:
        raise invalid_parameter(
            f"Number of message attributes [{len(given)}] exceeds the allowed maximum [{MAX_ATTRIBUTES}]."
        )
    for name, attribute in given.items():
        _check_name(name)
        _check_value(name, attribute)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise invalid_parameter(
            f"Invalid message attribute name '{name[:256]}': it can contain alphanumeric characters, underscore, "
            "hyphen and period, must not start or end with a period, and has from 1 to 256 characters."
        )
    if name.lower().startswith(("aws.", "amazon.")):
        raise invalid_parameter(
            f"Message attribute name '{name}' must not start with the reserved prefix AWS. or Amazon."
        )


def _check_value(name: str, attribute: Mapping[str, Any]) -> None:
    kind = attribute.get("DataType", "")
    if not kind:
        raise invalid_parameter(f"The message attribute '{name}' must contain non-empty message attribute type.")
    found = _TYPE.fullmatch(kind)
    if found is None or len(kind) > 256:
        raise invalid_parameter(
            f"The message attribute '{name}' has an invalid message attribute type, the set of supported type prefixes "
            "is Binary, Number, and String."
        )
    if "StringListValues" in attribute or "BinaryListValues" in attribute:
        raise SqsError(
            "UnsupportedOperation", "Message attribute list values in SendMessage operation are not supported."
        )
    value = attribute.get("BinaryValue" if found[1] == "Binary" else "StringValue")
    if not value:
        raise invalid_parameter(f"Message (user) attribute '{name}' must contain a non-empty value of type '{kind}'.")
    if found[1] == "Number" and not _NUMBER.fullmatch(value):
        raise invalid_parameter(f"Can't cast the value of message attribute '{name}' to a number.")
    if isinstance(value, str) and not is_valid_text(value):
        raise invalid_parameter(ERRORS["InvalidMessageContents"].text)


def md5_of(attributes: Attributes) -> str:
    """Return the MD5 of attributes, as AWS's SDKs compute it."""
    digest = hashlib.md5(usedforsecurity=False)
    for name, attribute in sorted(attributes.items()):
        kind = attribute["DataType"]
        transport = TRANSPORT[kind.partition(".")[0]]
        value = attribute["BinaryValue"] if transport == b"\x02" else attribute["StringValue"].encode()
        digest.update(_counted(name.encode()) + _counted(kind.encode()) + transport + _counted(value))
    return digest.hexdigest()


def _counted(content: bytes) -> bytes:
    return len(content).to_bytes(4) + content


def bytes_of(attributes: Attributes) -> int:
    """Return the bytes that attributes count for in the size of a message."""
    return sum(
        len(name.encode()) + len(attribute["DataType"].encode()) + len(_value(attribute))
        for name, attribute in attributes.items()
    )


def _value(attribute: Mapping[str, Any]) -> bytes:
    binary = attribute.get("BinaryValue")
    return binary if attribute["DataType"].startswith("Binary") else attribute["StringValue"].encode()


def to_engine(attributes: Attributes, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the engine's attributes of a message. `facts` are stored beside them, such as the sender."""
    texts = {name: _text(attribute) for name, attribute in attributes.items()}
    others = {name: text for name, text in texts.items() if name in RESERVED}
    told = {
        **facts,
        **({"types": {name: attribute["DataType"] for name, attribute in attributes.items()}} if attributes else {}),
        **({"values": others} if others else {}),
    }
    return {**{name: text for name, text in texts.items() if name not in RESERVED}, MEMBER: told}


def _text(attribute: Mapping[str, Any]) -> str:
    if attribute["DataType"].startswith("Binary"):
        return b64encode(attribute["BinaryValue"]).decode()
    return attribute["StringValue"]


def facts_in(engine: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts that `to_engine` stored. Empty for a message that was not sent through the SQS endpoint."""
    facts = engine.get(MEMBER)
    return facts if isinstance(facts, dict) else {}


def from_engine(engine: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the attributes in SQS's form. If the message was sent elsewhere, they become strings and numbers."""
    facts = facts_in(engine)
    if not facts:
        return dict(
            _plain(name, value) for name, value in engine.items() if name not in RESERVED and value not in ("", None)
        )
    values = engine | facts.get("values", {})
    return {name: _typed(kind, values[name]) for name, kind in facts.get("types", {}).items() if name in values}


def _plain(name: str, value: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return name, {"DataType": "Number", "StringValue": json.dumps(value)}
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return name, {"DataType": "String", "StringValue": text}


def _typed(kind: str, text: str) -> dict[str, Any]:
    if kind.startswith("Binary"):
        return {"DataType": kind, "BinaryValue": b64decode(text)}
    return {"DataType": kind, "StringValue": text}


def chosen(attributes: Attributes, names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """Return the attributes that a receive asks for: by name, by a beginning such as `bar.*`, or all."""
    wanted = set(names)
    if wanted & {"All", "*", ".*"}:
        return dict(attributes)
    beginnings = tuple(name.removesuffix(".*") for name in wanted if name.endswith(".*"))
    return {
        name: attribute
        for name, attribute in attributes.items()
        if name in wanted or (beginnings and name.startswith(beginnings))
    }
