"""The verbs of the Python client, from `signalbox/verbs.py`: their reference, and their table in the guide."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from docs.build.markdown import first_sentence, table
from signalbox import verbs
from signalbox.calls import captures, consumer_groups, queues, receiving, sending, settling, streams, subscriptions
from signalbox.verbs import DatabaseVerbs, Verbs

FOLDER = "reference/python"
ALL = "`Client`, `AsyncClient`, `HttpClient` and `AsyncHttpClient`"
IN_DATABASE = "`Client` and `AsyncClient`"
#: The noun of each verb whose call has another name.
NOUNS = {"fetch": receiving, "wait_settled": settling, "commit_messages": consumer_groups}


def pages() -> Iterator[tuple[str, str]]:
    """Return a page for each noun, with its verbs."""
    for noun, names in _verbs().items():
        texts = [_verb(name) for name in names]
        yield f"docs/{FOLDER}/{noun}.md", "\n\n".join([f"# Python verbs: {noun}", *texts])


def index() -> str:
    """Return the table of all verbs."""
    rows = [
        (f"[`{name}()`](../{FOLDER}/{noun}.md#{name})", first_sentence(_text(name)))
        for noun, names in _verbs().items()
        for name in names
    ]
    return table(("verb", "does"), rows)


def _verbs() -> dict[str, list[str]]:
    """Return the names of all verbs, by noun."""
    found: dict[str, list[str]] = {}
    for name in [*vars(Verbs), *vars(DatabaseVerbs)]:
        if not name.startswith("_") and name != "close":
            found.setdefault(_noun(name), []).append(name)
    return found


def _noun(name: str) -> str:
    nouns = (sending, receiving, settling, queues, streams, consumer_groups, subscriptions, captures)
    call = name.removesuffix("_batch")
    module = NOUNS.get(name) or next(noun for noun in nouns if hasattr(noun, name) or hasattr(noun, call))
    return module.__name__.rpartition(".")[2]


def _verb(name: str) -> str:
    clients = ALL if hasattr(Verbs, name) else IN_DATABASE
    return f"## {name}\n\n```python\n{name}{_signature(name)}\n```\n\n{_text(name)}\n\nClients: {clients}."


def _signature(name: str) -> str:
    """Write the arguments of a verb, including the options that it takes as keywords."""
    signature = inspect.signature(getattr(DatabaseVerbs, name))
    arguments: list[str] = []
    for parameter in list(signature.parameters.values())[1:]:
        if found := re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation)):
            arguments += ["*", *(f"{name}=..." for name in getattr(verbs, found[1]).__annotations__)]
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in arguments:
            arguments.append("*")
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        arguments.append(f"{parameter.name}{default}")
    return f"({', '.join(arguments)}) -> {signature.return_annotation}"


def _text(name: str) -> str:
    return inspect.getdoc(getattr(DatabaseVerbs, name)) or ""
