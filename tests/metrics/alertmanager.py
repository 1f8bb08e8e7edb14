"""Messages as Alertmanager sends them."""

from __future__ import annotations

import hashlib
from typing import Any

NEVER = "0001-01-01T00:00:00Z"
BEGAN = "2026-11-20T09:00:00.123456789Z"


def alert(
    name: str = "SignalboxDeadLetters", *, status: str = "firing", starts_at: str = BEGAN, **labels: str
) -> dict[str, Any]:
    """One alert; its fingerprint follows from its labels, as Alertmanager's does."""
    labels = {"alertname": name, "severity": "warning", "job": "signalbox", "tenant": "default"} | labels
    return {
        "status": status,
        "labels": labels,
        "annotations": {
            "summary": f"{name} in short",
            "description": f"{name} of {labels.get('queue', 'nothing')} at length",
            "runbook_url": f"docs/runbooks/{name}.md",
        },
        "startsAt": starts_at,
        "endsAt": "2026-11-20T10:30:00Z" if status == "resolved" else NEVER,
        "generatorURL": "http://prometheus.example/graph",
        "fingerprint": hashlib.sha256(repr(sorted(labels.items())).encode()).hexdigest()[:16],
    }


def message(*alerts: dict[str, Any]) -> dict[str, Any]:
    """Body that a webhook receiver gets about a group."""
    return {
        "version": "4",
        "groupKey": "{}:{}",
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "signalbox",
        "groupLabels": {},
        "commonLabels": {},
        "commonAnnotations": {},
        "externalURL": "http://alertmanager.example",
        "alerts": list(alerts),
    }
