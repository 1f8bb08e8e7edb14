"""The configuration file: queues with tenants and settings, and tenants with quotas, as YAML under version control.

A setting that the file does not name has its default. `paused` and `closed` are states and not part of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from queues.errors import InvalidArgument
from queues.models import Queue, Tenant
from queues.settings import QUOTAS, SETTINGS

MAX_BYTES = 4_000_000  # some 20,000 queues
MAX_DIGITS = 100
MAX_LEVELS = 50
DECLARED = {name: setting for name, setting in SETTINGS.items() if name not in ("paused", "closed")}
DEAD_LETTER_RETENTION_SECONDS = 1_209_600.0  # as queues/sql/dead_letters/_dead_letter_queue.sql makes them


@dataclass(frozen=True)
class DeclaredQueue:
    """A queue as the file declares it; `settings` are those that differ from the defaults."""

    name: str
    tenant: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    keeps_dead_letters: bool = False

    def values(self) -> dict[str, Any]:
        """Every declared setting, defaults included."""
        return defaults(self.keeps_dead_letters) | dict(self.settings)


@dataclass(frozen=True)
class Document:
    """The contents of a file: queues by name, and quotas by tenant, without zeros."""

    queues: Mapping[str, DeclaredQueue]
    tenants: Mapping[str, Mapping[str, Any]]


def defaults(keeps_dead_letters: bool) -> dict[str, Any]:
    """Return the declared settings of a queue with their defaults."""
    values = {name: setting.default for name, setting in DECLARED.items()}
    return values | {"retention_seconds": DEAD_LETTER_RETENTION_SECONDS} if keeps_dead_letters else values


def read() -> Document:
    """Read the document of the database, without dead-letter queues that have default settings."""
    queues = {}
    for row in Queue.objects.select_related("tenant").order_by("name"):
        settings = _differing({name: getattr(row, name) for name in DECLARED}, row.is_dead_letter_queue)
        if settings or not row.is_dead_letter_queue:
            queues[row.name] = DeclaredQueue(row.name, row.tenant.name, settings, row.is_dead_letter_queue)
    quotas = {
        tenant.name: {name: getattr(tenant, name) for name in QUOTAS if getattr(tenant, name)}
        for tenant in Tenant.objects.order_by("name")
    }
    return Document(queues, {name: values for name, values in quotas.items() if values})


def _differing(values: Mapping[str, Any], keeps_dead_letters: bool) -> dict[str, Any]:
    usual = defaults(keeps_dead_letters)
    return {name: value for name, value in values.items() if value != usual[name]}


def write(document: Document) -> str:
    """Write the document as YAML; equal configurations give equal texts."""
    body: dict[str, Any] = {}
    if document.tenants:
        body["tenants"] = {name: dict(values) for name, values in document.tenants.items()}
    body["queues"] = {name: _entry(queue) for name, queue in document.queues.items()}
    return yaml.safe_dump(body, sort_keys=False, allow_unicode=True, default_flow_style=False)


def _entry(queue: DeclaredQueue) -> dict[str, Any]:
    entry: dict[str, Any] = {"tenant": queue.tenant}
    if queue.keeps_dead_letters:
        entry["keeps_dead_letters"] = True
    if queue.settings:
        entry["settings"] = dict(queue.settings)
    return entry


def parse(text: str) -> Document:
    """Parse a file. Raises `InvalidArgument`, whose field is the path to the wrong value."""
    if len(text.encode()) > MAX_BYTES:
        raise InvalidArgument(f"the file has more than {MAX_BYTES:,} bytes", field="file")
    try:
        body = yaml.load(text, _StrictLoader)  # noqa: S506 - a safe loader that takes even less
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise InvalidArgument(f"the file is not YAML that can be read: {str(error)[:500]}", field="file") from None
    body = _mapping(body, "file", ("queues", "tenants"))
    queues = _mapping(body.get("queues"), "queues")
    tenants = _mapping(body.get("tenants"), "tenants")
    return Document(
        {name: _queue(name, entry) for name, entry in queues.items()},
        {name: _mapping(values, f"tenants.{name}", tuple(QUOTAS)) for name, values in tenants.items()},
    )


def _queue(name: str, entry: object) -> DeclaredQueue:
    path = f"queues.{name}"
    entry = _mapping(entry, path, ("tenant", "keeps_dead_letters", "settings"))
    tenant, keeps = entry.get("tenant", "default"), entry.get("keeps_dead_letters", False)
    if not isinstance(tenant, str):
        raise InvalidArgument(f"{path}.tenant is {tenant!r}: it must be text", field=f"{path}.tenant")
    if not isinstance(keeps, bool):
        field = f"{path}.keeps_dead_letters"
        raise InvalidArgument(f"{field} is {keeps!r}: it must be true or false", field=field)
    settings = _mapping(entry.get("settings"), f"{path}.settings", tuple(DECLARED))
    return DeclaredQueue(name, tenant, _differing(settings, keeps), keeps)


def _mapping(value: object, path: str, known: tuple[str, ...] = ()) -> dict[str, Any]:
    """Check that a value is a mapping with text keys, of the `known` ones if any; None is an empty mapping."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidArgument(f"{path} is {str(value)[:60]!r}: it must be a mapping", field=path)
    for key in value:
        if not isinstance(key, str):
            raise InvalidArgument(f"{path} has the key {key!r}: write it in quotes", field=path)
        if known and key not in known:
            raise InvalidArgument(f"{path}.{key[:60]} is unknown; known are {', '.join(known)}", field=f"{path}.{key}")
    return value


class _StrictLoader(yaml.SafeLoader):
    """A YAML loader that refuses references, which can make a small file huge, and repeated keys."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("the file refers to another part of itself (*): repeat the text instead")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = Counter(self.construct_object(key, deep=True) for key, _ in node.value)
        for key, times in keys.most_common(1):
            if times > 1:
                raise yaml.YAMLError(f"{str(key)[:60]!r} is repeated (line {node.start_mark.line + 1} and below)")
        return super().construct_mapping(node, deep)

    def fetch_flow_collection_start(self, token: Any) -> None:
        """Refuse deep nesting as it opens: for each token the YAML reader checks every open level."""
        if self.flow_level >= MAX_LEVELS:
            raise yaml.YAMLError(f"it is nested too deeply: at most {MAX_LEVELS} levels")
        super().fetch_flow_collection_start(token)

    def construct_number(self, node: Any) -> Any:
        """Refuse digits in groups of base 60, such as 1:59:59, which YAML parses in quadratic time."""
        if len(node.value) > MAX_DIGITS:
            raise yaml.YAMLError(f"a number has {len(node.value)} characters (line {node.start_mark.line + 1})")
        try:
            return yaml.SafeLoader.yaml_constructors[node.tag](self, node)
        except ArithmeticError as error:
            raise yaml.YAMLError(f"a number is too large (line {node.start_mark.line + 1})") from error


for _kind in ("int", "float"):
    _StrictLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _StrictLoader.construct_number)
