"""Which paths are masked where: rules of a queue, of a tenant, or of all, kept in a table and audited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import IntegrityError, transaction

from dlq.filters import Filter, FilterError
from dlq.filters.syntax import Term
from dlq.masking import Rules, Steps, parse_path, touches
from dlq.models import MaskingRule
from queues import audit
from queues.errors import InvalidArgument
from queues.models import Queue, Tenant

MOST_RULES = 500


def add(*, part: str, path: str, queue: str = "", tenant: str = "", actor: str, reason: str = "") -> MaskingRule:
    """Mask a path from now on. Raises `InvalidArgument`, which names the field."""
    parse_path(path)
    if part not in MaskingRule.Part.values:
        raise InvalidArgument(f"part is {part[:40]!r}: it must be payload or attributes", "part")
    if queue and tenant:
        raise InvalidArgument("tenant must be empty beside a queue: the rule is of one of them, or of all", "tenant")
    found = Queue.objects.filter(name=queue).first() if queue else None
    if queue and found is None:
        raise InvalidArgument(f"queue '{queue[:100]}' does not exist", "queue")
    if tenant and not Tenant.objects.filter(name=tenant).exists():
        raise InvalidArgument(f"tenant '{tenant[:100]}' does not exist", "tenant")
    if MaskingRule.objects.count() >= MOST_RULES:
        raise InvalidArgument(f"there are {MOST_RULES} rules: remove one first", "path")
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
    """Show the path again. False when there is no such rule."""
    with transaction.atomic():
        rule = MaskingRule.objects.select_for_update().filter(pk=rule_id).first()
        if rule is None:
            return False
        found = Queue.objects.filter(name=rule.queue_name).first() if rule.queue_name else None
        audit.record(actor, "masking.remove", found, reason, rule.summary())
        rule.delete()
        return True


class Masking:
    """The rules as of one moment: read once for a page or an export, then asked for each queue."""

    def __init__(self) -> None:
        self._rules: Sequence[MaskingRule] = list(MaskingRule.objects.all()[:MOST_RULES])
        self._known: dict[str, Rules] = {}
        if self._rules:
            facts = Queue.objects.values_list("name", "tenant__name", "dead_letter_queue")
            self._tenants = {name: tenant for name, tenant, _ in facts}
            self._sources: dict[str, set[str]] = {}
            for name, _, holder in facts:
                self._sources.setdefault(holder or f"{name}-dlq", set()).add(name)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def of(self, *queues: str) -> Rules:
        """What is masked of a message that is, or was, in any of these queues."""
        rules = Rules()
        for name in queues if self._rules else ():
            if name not in self._known:
                self._known[name] = self._of_one(name)
            rules |= self._known[name]
        return rules

    def everywhere(self) -> Rules:
        """What is masked in any queue."""
        return _rules(self._rules)

    def _of_one(self, name: str) -> Rules:
        """Of a dead-letter queue also what is masked where its messages died."""
        names = {name} | self._sources.get(name, set())
        tenants = {self._tenants[one] for one in names if one in self._tenants}
        return _rules(
            rule
            for rule in self._rules
            if (rule.queue_name in names if rule.queue_name else not rule.tenant_name or rule.tenant_name in tenants)
        )

    def check(self, chosen: Filter, *queues: str) -> None:
        """Refuse a filter that asks for what is masked, here or in any queue it selects. Raises `FilterError`.

        `queues` are those that are listed; without any, those that the filter names, or all.
        """
        if not self._rules:
            return
        rules = self.of(*queues) if queues else self._selected(chosen)
        for term in chosen.terms:
            if _probes(term, rules):
                raise _refusal(term)

    def check_patch(self, patch: Any) -> None:
        """Refuse a JSON Patch that reads what is masked in any queue, to compare or to copy it.

        Raises `InvalidArgument`, which names the field `patch`. A merge patch reads nothing.
        """
        rules = self.everywhere().payload
        for operation in patch if rules and isinstance(patch, list) else ():
            pointer = operation.get("path" if operation.get("op") == "test" else "from")
            if isinstance(pointer, str) and any(touches(steps, rules) for steps in _readings(pointer)):
                raise InvalidArgument(f"patch reads {pointer[:100]}, which is masked: you may not ask for it", "patch")

    def _selected(self, chosen: Filter) -> Rules:
        names = [name for term in chosen.terms if term.key == "queue" and not term.negated for name in term.literals]
        plain = names and all(name in self._tenants for name in names)
        bound = all(len(term.literals) == len(term.values) for term in chosen.terms if term.key == "queue")
        return self.of(*names) if plain and bound else self.everywhere()


def _rules(rules: Iterable[MaskingRule]) -> Rules:
    payload: set[Steps] = set()
    attributes: set[Steps] = set()
    for rule in rules:
        (payload if rule.part == MaskingRule.Part.PAYLOAD else attributes).add(parse_path(rule.path))
    return Rules(frozenset(payload), frozenset(attributes))


def _probes(term: Term, rules: Rules) -> bool:
    """Asking for a masked path, for a whole document around one, or for an error that may quote one."""
    if term.key == "payload":
        return touches(_keys(term), rules.payload)
    if term.key == "attr":
        return touches(_keys(term), rules.attributes)
    return term.key == "error" and bool(rules)


def _readings(pointer: str) -> tuple[Steps, Steps]:
    """What a JSON pointer names, where a number is a key, and where it is a place in a list."""
    steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
    return steps, tuple(step for step in steps if not step.isdigit())


def _keys(term: Term) -> Steps:
    """Rules pass through lists, so what counts of the term's path are its names."""
    return tuple(step for step in term.path if isinstance(step, str))


def _refusal(term: Term) -> FilterError:
    if term.key == "error":
        return term.error("error: may quote fields that are masked here.", "a key such as class: or fp:")
    return term.error(f"{term.name}: is masked: you may not ask for it.", "a path that is not masked")
