"""Changes to failure groups by people: state, owner, runbook and note, and merging those that are one cause.

Every change is one transaction with its row of audit, under one lock of its own: these are people, and few.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from django.db import connection, transaction

from dlq.failure_groups.models import GroupMember, GroupNote, head_of
from dlq.failure_groups.reading import read_group
from queues import audit
from queues.database.query import database_now
from queues.errors import InvalidArgument

NOTE_CHARACTERS = 4_000
OWNER_CHARACTERS = 150
URL_CHARACTERS = 500
# All of them travel in one filter.
MAX_MEMBERS = 50


def describe(fingerprint: str, *, note: str, owner: str, runbook_url: str, actor: str) -> bool:
    """Keep a note, an owner and a link. False when they were so before."""
    _check_length(note, NOTE_CHARACTERS, "note")
    _check_length(owner, OWNER_CHARACTERS, "owner")
    _check_url(runbook_url)
    with transaction.atomic():
        care = _care(fingerprint)
        asked = {"note": note, "owner": owner, "runbook_url": runbook_url}
        changes = {
            name: {"before": before, "after": value}
            for name, value in asked.items()
            if (before := getattr(care, name)) != value
        }
        if not changes:
            return False
        for name, value in asked.items():
            setattr(care, name, value)
        care.save()
        _record(actor, "describe", fingerprint, changes=changes)
        return True


def set_state(fingerprint: str, state: str, *, actor: str, reason: str = "") -> bool:
    """Set the state to open, acknowledged or resolved, as of now. False when nothing changed."""
    if state not in GroupNote.State.values:
        raise InvalidArgument(f"state is '{state}': it must be open, acknowledged or resolved", "state")
    with transaction.atomic():
        care = _care(fingerprint)
        group = read_group(fingerprint)
        shown = group.state.value if group else care.state
        if shown == state:
            return False
        care.state, care.state_changed_at, care.state_changed_by = state, database_now(), actor[:150]
        care.save()
        _record(actor, "set_state", fingerprint, reason, changes={"state": {"before": shown, "after": state}})
        return True


def merge(fingerprint: str, into: str, *, actor: str, reason: str = "") -> str:
    """Count this failure group and its members in another from now on; return the fingerprint of the other."""
    with transaction.atomic():
        _hold()
        _check_known(fingerprint, "fingerprint")
        _check_known(into, "into")
        head = head_of(into)
        if head_of(fingerprint) == head:
            raise InvalidArgument("they are one failure group already", "into")
        moving = GroupMember.objects.filter(head=fingerprint)
        if head_of(fingerprint) != fingerprint:
            raise InvalidArgument(f"{fingerprint} is part of another failure group: split it out first", "fingerprint")
        if moving.count() + GroupMember.objects.filter(head=head).count() + 1 > MAX_MEMBERS:
            raise InvalidArgument(f"a failure group may have at most {MAX_MEMBERS} others merged into it", "into")
        moving.update(head=head)
        GroupMember.objects.create(fingerprint=fingerprint, head=head, merged_by=actor[:150])
        _record(actor, "merge", fingerprint, reason, into=head)
        return head


def split(fingerprint: str, *, actor: str, reason: str = "") -> bool:
    """Let a fingerprint that was merged into another count by itself again. False when it was not merged."""
    with transaction.atomic():
        _hold()
        head = head_of(fingerprint)
        if not GroupMember.objects.filter(fingerprint=fingerprint).delete()[0]:
            return False
        _record(actor, "split", fingerprint, reason, out_of=head)
        return True


def _care(fingerprint: str) -> GroupNote:
    _hold()
    _check_known(fingerprint, "fingerprint")
    return GroupNote.objects.filter(fingerprint=fingerprint).first() or GroupNote(
        fingerprint=fingerprint, note="", owner="", runbook_url="", state=GroupNote.State.OPEN, state_changed_by=""
    )


def _hold() -> None:
    """Two people at once: the second sees what the first did."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(hashtext('signalbox.failure_group_note'), 0)")


def _record(actor: str, verb: str, fingerprint: str, reason: str = "", **details: Any) -> None:
    audit.record(actor, f"failure_group.{verb}", reason=reason, details={"fingerprint": fingerprint, **details})


def _check_known(fingerprint: str, field: str) -> None:
    if read_group(fingerprint) is None and not GroupNote.objects.filter(fingerprint=fingerprint).exists():
        raise InvalidArgument(f"there is no failure group '{fingerprint[:80]}'", field)


def _check_length(text: str, most: int, field: str) -> None:
    if len(text) > most:
        raise InvalidArgument(f"{field} has {len(text):,} characters: at most {most:,}", field)


def _check_url(url: str) -> None:
    """Refuse what a browser does not open as a page: a script would run with the rights of the reader."""
    _check_length(url, URL_CHARACTERS, "runbook_url")
    if not url:
        return
    parts = None
    with suppress(ValueError):
        parts = urlsplit(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or url != "".join(url.split()):
        raise InvalidArgument("runbook_url must be an address that begins with http:// or https://", "runbook_url")
