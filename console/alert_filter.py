"""What the list of alerts can be asked: which alert, of which queue, how bad, from whom, firing or over."""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import Q, QuerySet

from console.terms import Key, parse
from metrics.alerts.models import Alert

_READ: dict[str, Callable[[str], Q]] = {
    "queue": lambda text: Q(queue_name=text),
    "tenant": lambda text: Q(tenant_name=text),
    "alert": lambda text: Q(name__icontains=text),
    "severity": lambda text: Q(severity=text),
    "state": lambda text: Q(state=text),
    "source": lambda text: Q(source=text),
}

KEYS: dict[str, Key] = {
    "queue": Key("The queue it is about."),
    "tenant": Key("The tenant whose queue it is."),
    "alert": Key("Part of the alert's name; words without a key search here too."),
    "severity": Key("How bad it is: critical or warning."),
    "state": Key("Whether it fires.", (Alert.State.FIRING.value, Alert.State.RESOLVED.value)),
    "source": Key("Who found it out.", tuple(Alert.Source.values)),
}


def select(alerts: QuerySet[Alert], text: str) -> QuerySet[Alert]:
    """The alerts that `text` selects; raises FilterError at its first mistake."""
    for term in parse(text, KEYS, wordless="alert"):
        matching = Q()
        for value in term.values:
            matching |= _READ[term.key](value)
        alerts = alerts.exclude(matching) if term.negated else alerts.filter(matching)
    return alerts
