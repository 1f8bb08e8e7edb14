"""Masking rules in the database: paths that are masked in a queue or stream, in a tenant, or everywhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, models, transaction
from django.db.models.functions import Now

from dlq.filters import Filter, FilterError
from dlq.filters.syntax import Term
from dlq.masking.masks import ERROR, MASK, ORIGIN, Rules, Steps, mask, origin_text, parse_path, touches
from queues import audit
from queues.database.names import former_names, sources_by_holder
from queues.errors import InvalidArgument
from queues.models import Queue, Tenant
from queues.stream_models import ConsumerGroup, Stream

MAX_RULES = 500
_QUOTED_ERROR: Steps = (ORIGIN, ERROR)


class MaskingRule(models.Model):
    """A path into payloads or attributes that is masked in a queue or stream, in a tenant, or everywhere."""

    class Part(models.TextChoices):
        PAYLOAD = "payload"
        ATTRIBUTES = "attributes"

    masking_rule_id = models.BigAutoField(primary_key=True)
    part = models.CharField(max_length=10, choices=Part.choices)
    path = models.CharField(max_length=200)
    queue_name = models.CharField(max_length=100, db_default="")
    tenant_name = models.CharField(max_length=100, db_default="")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "masking_rule"
        ordering = ("queue_name", "tenant_name", "part", "path")
        constraints = [
            models.UniqueConstraint(fields=["queue_name", "tenant_name", "part", "path"], name="masking_rule_once"),
            models.CheckConstraint(
                name="masking_rule_scope", condition=models.Q(queue_name="") | models.Q(tenant_name="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.part}.{self.path}"

    def summary(self) -> dict[str, Any]:
        """Return the details of a rule for the audit."""
        return {"part": self.part, "path": self.path, "queue": self.queue_name, "tenant": self.tenant_name}


def add(*, part: str, path: str, queue: str = "", tenant: str = "", actor: str, reason: str = "") -> MaskingRule:
    """Add a masking rule. Raises `InvalidArgument`, which names the field."""
    parse_path(path)
    if part not in MaskingRule.Part.values:
        raise InvalidArgument(f"part is {part[:40]!r}: it must be payload or attributes", "part")
    if queue and tenant:
        raise InvalidArgument("tenant must be empty when a queue is given: a rule has one of them or neither", "tenant")
    found = Queue.objects.filter(name=queue).first() if queue else None
    if queue and found is None and not Stream.objects.filter(name=queue).exists():
        raise InvalidArgument(f"queue '{queue[:100]}' does not exist, nor does a stream of that name", "queue")
    if tenant and not Tenant.objects.filter(name=tenant).exists():
        raise InvalidArgument(f"tenant '{tenant[:100]}' does not exist", "tenant")
    if MaskingRule.objects.count() >= MAX_RULES:
        raise InvalidArgument(f"there are {MAX_RULES} rules: remove one first", "path")
    try:
        with transaction.atomic():
            rule = MaskingRule.objects.create(
                part=part, path=path, queue_name=queue, tenant_name=tenant, created_by=actor
            )
            audit.record(actor, "masking.add", found, reason, rule.summary())
    except IntegrityError:
        raise InvalidArgument(f"path {path} is masked there already", "path") from None
    return rule


def remove(rule_id: int, *, actor: str, reason: str = "") -> bool:
    """Remove a masking rule. False when it does not exist."""
    with transaction.atomic():
        rule = MaskingRule.objects.select_for_update().filter(pk=rule_id).first()
        if rule is None:
            return False
        found = Queue.objects.filter(name=rule.queue_name).first() if rule.queue_name else None
        audit.record(actor, "masking.remove", found, reason, rule.summary())
        rule.delete()
        return True


class Masking:
    """All masking rules, read once for a page or an export."""

    def __init__(self) -> None:
        self._rules: Sequence[MaskingRule] = list(MaskingRule.objects.all()[:MAX_RULES])
        self._places = _Places.read() if self._rules else _Places()
        self._known: dict[frozenset[str], Rules] = {}

    def __bool__(self) -> bool:
        return bool(self._rules)

    def of(self, *places: str) -> Rules:
        """Return the rules for a message that is, or was, in any of these queues or streams.

        They include the rules of queues whose dead letters are kept there, and of streams with a subscription to the
        queue. All rules apply to an unknown name.
        """
        return self._together(places, of_dead_letters=False)

    def of_dead_letters(self, *queues: str) -> Rules:
        """Return the rules for dead letters that died in any of these queues, or are kept in one of them."""
        return self._together(queues, of_dead_letters=True)

    def everywhere(self) -> Rules:
        """Return the rules of all queues and streams."""
        return _rules(self._rules)

    def _together(self, names: Iterable[str], *, of_dead_letters: bool) -> Rules:
        rules = Rules()
        for name in dict.fromkeys(names) if self._rules else ():
            rules |= self._of_name(name, of_dead_letters=of_dead_letters)
        return rules

    def _of_name(self, name: str, *, of_dead_letters: bool) -> Rules:
        origins = self._places.origins(name)
        if not all(map(self._places.knows, origins)):
            return self.everywhere()
        if of_dead_letters:
            origins |= self._places.holders_of(origins)
        if origins not in self._known:
            self._known[origins] = self._naming(origins)
        return self._known[origins]

    def _naming(self, names: Set[str]) -> Rules:
        tenants = self._places.tenants_of(names)
        return _rules(
            rule
            for rule in self._rules
            if (rule.queue_name in names if rule.queue_name else not rule.tenant_name or rule.tenant_name in tenants)
        )

    def check(self, filter: Filter, *queues: str) -> None:
        """Refuse a filter on values that are masked in the listed queues. Raises `FilterError`.

        Without `queues`, the queues that the filter selects are checked.
        """
        for term in self.masked_terms(filter, *queues):
            raise _refusal(term)

    def masked_terms(self, filter: Filter, *queues: str) -> list[Term]:
        """Return the terms that compare masked values in the listed queues, or in the queues of the filter."""
        rules = self._asked(filter, queues)
        return [term for term in filter.terms if _reveals(term, rules)]

    def readable(self, filter: Filter, *queues: str) -> Filter:
        """Limit the words of the filter to names when any field is masked. Raises `FilterError` as `check` does."""
        held = filter.held_to_names() if self._asked(filter, queues) else filter
        self.check(held, *queues)
        return held

    def _asked(self, filter: Filter, queues: Sequence[str]) -> Rules:
        """Return the rules of the listed queues; without `queues`, of the queues that the filter selects."""
        return (self.of(*queues) if queues else self.selected(filter)) if self._rules else Rules()

    def check_patch(self, patch: Any) -> None:
        """Refuse a JSON Patch that tests, copies or moves a value that is masked in any queue.

        Raises `InvalidArgument`, which names the field `patch`. A merge patch reads no values.
        """
        rules = self.everywhere().payload
        for operation in patch if rules and isinstance(patch, list) else ():
            pointer = operation.get("path" if operation.get("op") == "test" else "from")
            if isinstance(pointer, str) and any(touches(steps, rules) for steps in _pointer_paths(pointer)):
                raise InvalidArgument(f"patch reads {pointer[:100]}, which is masked: use another path", "patch")

    def shown_patch(self, patch: Any) -> Any:
        """Mask the values that a patch writes to paths that are masked in any queue."""
        rules = self.everywhere().payload
        if not rules:
            return patch
        return (
            [_shown_operation(operation, rules) for operation in patch]
            if isinstance(patch, list)
            else mask(patch, rules)
        )

    def check_destination(self, carried: Rules, target_queue: str) -> None:
        """Refuse to send messages to a queue that does not mask everything that the rules `carried` mask.

        Raises `InvalidArgument`, which names the field `target_queue`.
        """
        if not self.of(target_queue).covers(carried):
            raise InvalidArgument(
                f"target_queue is '{target_queue}', which would show fields that are masked in the source queues:"
                " mask them there too, or ask a person with the permission reveal",
                "target_queue",
            )

    def selected(self, filter: Filter) -> Rules:
        """Return the rules for the dead letters that a filter may select: of the queues it names, or all rules."""
        names = [name for term in filter.terms if term.key == "queue" and not term.negated for name in term.literals]
        plain = names and all(self._places.knows(name) for name in names)
        bound = all(len(term.literals) == len(term.values) for term in filter.terms if term.key == "queue")
        return self.of_dead_letters(*names) if plain and bound else self.everywhere()


def died_in(attributes: Any) -> list[str]:
    """List the queue in which a former dead letter died, according to its attributes; empty for other messages."""
    queue = origin_text(attributes, "queue")
    return [] if queue is None else [queue]


@dataclass(frozen=True)
class _Places:
    """The names of queues and streams, and the flows of messages between them."""

    tenants: Mapping[str, Set[str]] = field(default_factory=dict)
    """The tenants of the queue and the stream of each name."""
    called: Mapping[str, Set[str]] = field(default_factory=dict)
    """The other names of the queue of each name, former and current."""
    comes_from: Mapping[str, Set[str]] = field(default_factory=dict)
    """For each queue, the queues whose dead letters it keeps, and the streams with a subscription to it."""
    kept_in: Mapping[str, Set[str]] = field(default_factory=dict)
    """For each queue, the queues that keep its dead letters."""

    @classmethod
    def read(cls) -> _Places:
        """Read all names, with five queries."""
        tenants: dict[str, set[str]] = defaultdict(set)
        for model in (Queue, Stream):
            for name, tenant in model._default_manager.values_list("name", "tenant__name"):
                tenants[name].add(tenant)
        called: dict[str, set[str]] = defaultdict(set)
        for old, name in former_names():
            called[old].add(name)
            called[name].add(old)
        comes_from, kept_in = sources_by_holder(), defaultdict[str, set[str]](set)
        for holder, sources in comes_from.items():
            for source in sources:
                kept_in[source].add(holder)
        fed = ConsumerGroup.objects.filter(queue__isnull=False).values_list("queue__name", "stream__name")
        for queue, stream in fed:
            comes_from.setdefault(queue, set()).add(stream)
        return cls(tenants, called, comes_from, kept_in)

    def knows(self, name: str) -> bool:
        """Tell whether this is the name of a queue or stream, or a former name of a queue."""
        return name in self.tenants or name in self.called

    def origins(self, name: str) -> frozenset[str]:
        """Return this name, and all names of queues and streams whose messages may have come to it."""
        names, added = set[str](), {name}
        while added:
            names |= added
            added = {
                source for known in added for graph in (self.called, self.comes_from) for source in graph.get(known, ())
            } - names
        return frozenset(names)

    def holders_of(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(holder for name in names for holder in self.kept_in.get(name, ()))

    def tenants_of(self, names: Iterable[str]) -> set[str]:
        return {tenant for name in names for tenant in self.tenants.get(name, ())}


def _rules(rules: Iterable[MaskingRule]) -> Rules:
    payload: set[Steps] = set()
    attributes: set[Steps] = set()
    for rule in rules:
        (payload if rule.part == MaskingRule.Part.PAYLOAD else attributes).add(parse_path(rule.path))
    return Rules(frozenset(payload), frozenset(attributes))


def _reveals(term: Term, rules: Rules) -> bool:
    """Tell whether a term could reveal a masked value, in a document or in an error that quotes it."""
    if term.key == "payload":
        return touches(_keys(term), rules.payload)
    if term.key == "attr":
        return touches(_keys(term), rules.attributes) or (bool(rules) and touches(_keys(term), [_QUOTED_ERROR]))
    return term.key in ("error", "text") and bool(rules)


def _shown_operation(operation: dict[str, Any], rules: Set[Steps]) -> dict[str, Any]:
    touched = "value" in operation and any(touches(steps, rules) for steps in _pointer_paths(operation["path"]))
    return {**operation, "value": MASK} if touched else operation


def _pointer_paths(pointer: str) -> tuple[Steps, Steps]:
    """Convert a JSON pointer to two paths: with its numbers as keys, and without them, as indexes of arrays."""
    steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
    return steps, tuple(step for step in steps if not step.isdigit())


def _keys(term: Term) -> Steps:
    """Return the keys of a term's path without list steps, since rules pass through lists."""
    return tuple(step for step in term.path if isinstance(step, str))


def _refusal(term: Term) -> FilterError:
    if term.key == "error" or (term.key == "attr" and touches(_keys(term), [_QUOTED_ERROR])):
        return term.error(f"{term.name}: may quote masked fields.", "a key such as class: or fp:")
    if term.key == "text":
        return term.error("text: may find masked fields.", "name:, which does not search payloads")
    return term.error(f"{term.name}: is masked.", "a path that is not masked")
