"""What people do to a cluster: say where it stands, who cares for it and what they know, and which causes are one.

Every change is one transaction with its row of audit, under one lock of its own: these are people, and few.
"""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlsplit

from django.db import connection, transaction

from dlq.cluster_members import head_of
from dlq.cluster_models import ClusterCare, ClusterMember
from dlq.clusters.reading import read_cluster
from dlq.finding import database_now
from queues import audit
from queues.errors import InvalidArgument

NOTE_CHARACTERS = 4_000
OWNER_CHARACTERS = 150
URL_CHARACTERS = 500
# All of them travel in one filter.
MOST_MEMBERS = 50


def describe(fingerprint: str, *, note: str, owner: str, runbook_url: str, actor: str) -> bool:
    """Keep a note, an owner and a link. False when they were so before."""
    _check_length(note, NOTE_CHARACTERS, "note")
    _check_length(owner, OWNER_CHARACTERS, "owner")
    _check_url(runbook_url)
    with transaction.atomic():
        care = _care(fingerprint)
        asked = {"note": note, "owner": owner, "runbook_url": runbook_url}
        before = {name: getattr(care, name) for name in asked}
        changes = {
            name: {"before": before[name], "after": value} for name, value in asked.items() if value != before[name]
        }
        if not changes:
            return False
        for name, value in asked.items():
            setattr(care, name, value)
        care.save()
        audit.record(actor, "cluster.describe", details={"fingerprint": fingerprint, "changes": changes})
        return True


def set_state(fingerprint: str, state: str, *, actor: str, reason: str = "") -> bool:
    """Say that it is open, acknowledged or resolved. Said anew it counts from now. False when nothing changed."""
    if state not in ClusterCare.State.values:
        raise InvalidArgument(f"state is '{state}': it must be open, acknowledged or resolved", "state")
    with transaction.atomic():
        care = _care(fingerprint)
        cluster = read_cluster(fingerprint)
        shown = cluster.state.value if cluster else care.state
        if shown == state:
            return False
        care.state, care.state_changed_at, care.state_changed_by = state, database_now(), actor[:150]
        care.save()
        change = {"state": {"before": shown, "after": state}}
        audit.record(actor, "cluster.set_state", reason=reason, details={"fingerprint": fingerprint, "changes": change})
        return True


def merge(fingerprint: str, into: str, *, actor: str, reason: str = "") -> str:
    """Count this cluster, and what was merged into it, in another from now on; returns the other's fingerprint."""
    with transaction.atomic():
        _hold()
        _check_known(fingerprint, "fingerprint")
        _check_known(into, "into")
        head = head_of(into)
        if head_of(fingerprint) == head:
            raise InvalidArgument("they are one cluster already", "into")
        moving = ClusterMember.objects.filter(head=fingerprint)
        if head_of(fingerprint) != fingerprint:
            raise InvalidArgument(f"{fingerprint} is part of another cluster: split it out first", "fingerprint")
        if moving.count() + ClusterMember.objects.filter(head=head).count() + 1 > MOST_MEMBERS:
            raise InvalidArgument(f"a cluster may have at most {MOST_MEMBERS} others merged into it", "into")
        moving.update(head=head)
        ClusterMember.objects.create(fingerprint=fingerprint, head=head, merged_by=actor[:150])
        audit.record(actor, "cluster.merge", reason=reason, details={"fingerprint": fingerprint, "into": head})
        return head


def split(fingerprint: str, *, actor: str, reason: str = "") -> bool:
    """Let a fingerprint that was merged into another count by itself again. False when it was not merged."""
    with transaction.atomic():
        _hold()
        head = head_of(fingerprint)
        if not ClusterMember.objects.filter(fingerprint=fingerprint).delete()[0]:
            return False
        audit.record(actor, "cluster.split", reason=reason, details={"fingerprint": fingerprint, "out_of": head})
        return True


def _care(fingerprint: str) -> ClusterCare:
    _hold()
    _check_known(fingerprint, "fingerprint")
    return ClusterCare.objects.filter(fingerprint=fingerprint).first() or ClusterCare(
        fingerprint=fingerprint, note="", owner="", runbook_url="", state=ClusterCare.State.OPEN, state_changed_by=""
    )


def _hold() -> None:
    """Two people at once: the second sees what the first did."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(hashtext('signalbox.cluster_care'), 0)")


def _check_known(fingerprint: str, field: str) -> None:
    if read_cluster(fingerprint) is None and not ClusterCare.objects.filter(fingerprint=fingerprint).exists():
        raise InvalidArgument(f"there is no cluster '{fingerprint[:80]}'", field)


def _check_length(text: str, most: int, field: str) -> None:
    if len(text) > most:
        raise InvalidArgument(f"{field} has {len(text):,} characters: at most {most:,}", field)


def _check_url(url: str) -> None:
    """Only what a browser opens as a page: a link that runs a script would run as whoever clicks it."""
    _check_length(url, URL_CHARACTERS, "runbook_url")
    if not url:
        return
    parts = None
    with suppress(ValueError):
        parts = urlsplit(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or url != "".join(url.split()):
        raise InvalidArgument("runbook_url must be an address that begins with http:// or https://", "runbook_url")
