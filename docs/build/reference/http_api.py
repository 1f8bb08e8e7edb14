"""The calls of the HTTP API, from its OpenAPI document: one page a call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from console.api.openapi import document, scopes
from console.api_reference.fields import Field
from console.api_reference.operations import Operation, Section, sections
from docs.build.markdown import first_sentence, linked, sentence, table

FOLDER = "reference/http"
BASE = "https://queue.example.com"


def pages() -> Iterator[tuple[str, str]]:
    """Return a page for each call."""
    for section in _sections():
        for call in section.operations:
            yield f"docs/{FOLDER}/{_file(call)}.md", _operation(call)


def index() -> str:
    """Return the table of all calls."""
    return table(
        ("call", "scope", "does"),
        (
            (f"[`{call.method} {call.path}`](http/{_file(call)}.md)", call.scope, first_sentence(call.text))
            for section in _sections()
            for call in section.operations
        ),
    )


@cache
def _sections() -> Sequence[Section]:
    return sections(document(), scopes(), BASE)


def _file(call: Operation) -> str:
    words = re.findall(r"[a-z_]+", call.path.removeprefix("/v1").lower())
    return "-".join([call.method.lower(), *words]).replace("_", "-")


def _operation(call: Operation) -> str:
    texts = [
        f"# {call.method} {call.path}",
        linked(sentence(call.text), FOLDER),
        f"Scope: `{call.scope}`." if call.scope else "",
        f"```\n{call.example}\n```",
        _fields("parameter", [*call.parameters, *call.headers]),
        _fields("field of the request", call.body),
        *(_fields(f"field of the answer {response.status}", response.fields) for response in call.responses),
    ]
    return "\n\n".join(text for text in texts if text)


def _fields(head: str, fields: Iterable[Field]) -> str:
    rows = [(f"`{one.name}`", _kind(one), linked(one.text, FOLDER)) for one in fields]
    return table((head, "type", "meaning"), rows) if rows else ""


def _kind(field: Field) -> str:
    needed = ", required" if field.required else ""
    return f"{field.kind}{needed}{f'; default {field.default}' if field.default else ''}"
