"""Changes of failure groups by people: state, owner, runbook, note, snooze, comments and merging.

Each change is one transaction with its row in the audit, under one lock, because people make few changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.db import connection, transaction

from dlq.failure_groups.models import GroupComment, GroupMember, GroupNote, head_of
from dlq.failure_groups.reading import read_group
from queues import audit
from queues.database.query import database_now
from queues.errors import InvalidArgument

NOTE_CHARACTERS = 4_000
OWNER_CHARACTERS = 150
COMMENT_CHARACTERS = 4_000
MAX_COMMENTS = 100
MAX_SNOOZED_FAILURES = 1_000_000_000
URL_CHARACTERS = 500
# A filter for a group names all fingerprints of the group, so their number is limited.
MAX_MEMBERS = 50


def describe(fingerprint: str, *, note: str, owner: str, runbook_url: str, actor: str) -> bool:
    """Save a note, an owner and a runbook. False if nothing changed."""
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


def snooze(
    fingerprint: str, *, until: datetime | None = None, failures: int | None = None, actor: str, reason: str = ""
) -> bool:
    """Snooze a group until a time, or until it has `failures` more; without either, end the snooze.

    Returns False if there was no snooze to end. Raises `InvalidArgument`.
    """
    if until is not None and until <= database_now():
        raise InvalidArgument("the time is in the past: snooze until a time in the future", "until")
    if failures is not None and not 1 <= failures <= MAX_SNOOZED_FAILURES:
        raise InvalidArgument(f"{failures:,} more failures: allowed are 1 to {MAX_SNOOZED_FAILURES:,}", "failures")
    with transaction.atomic():
        care = _care(fingerprint)
        if until is None and failures is None and care.snoozed_until is None and care.snoozed_failures is None:
            return False
        care.snoozed_until, care.snoozed_failures = until, _failures_at(fingerprint, failures)
        care.save()
        ends = {"until": until.isoformat() if until else None, "more_failures": failures}
        _record(actor, "snooze", fingerprint, reason, **ends)
        return True


def _failures_at(fingerprint: str, more: int | None) -> int | None:
    """Return the number of failures in total at which a snooze ends."""
    group = read_group(fingerprint)
    return None if more is None or group is None else group.failures + more


def comment(fingerprint: str, text: str, *, actor: str) -> GroupComment:
    """Add a comment to the thread of a failure group."""
    _check_length(text, COMMENT_CHARACTERS, "comment")
    if not text.strip():
        raise InvalidArgument("the comment is empty: enter a text", "text")
    with transaction.atomic():
        _hold()
        _check_known(fingerprint, "fingerprint")
        written = GroupComment.objects.create(fingerprint=fingerprint, author=actor[:150], text=text)
        _record(actor, "comment", fingerprint, comment_id=written.pk)
        return written


def delete_comment(fingerprints: Sequence[str], comment_id: int, *, actor: str) -> bool:
    """Delete a comment of one of these groups; False when it does not exist or another person wrote it."""
    with transaction.atomic():
        own = GroupComment.objects.filter(pk=comment_id, fingerprint__in=fingerprints, author=actor[:150])
        written = own.select_for_update().first()
        if written is None:
            return False
        _record(actor, "delete_comment", written.fingerprint, comment_id=comment_id)
        written.delete()
        return True


def comments_of(fingerprints: Sequence[str]) -> list[GroupComment]:
    """Read the newest MAX_COMMENTS comments of a group and its members, the oldest first. One query."""
    newest = GroupComment.objects.filter(fingerprint__in=fingerprints).order_by("-comment_id")[:MAX_COMMENTS]
    return list(newest)[::-1]


def merge(fingerprint: str, into: str, *, actor: str, reason: str = "") -> str:
    """Merge this failure group and its members into another one. Return the fingerprint of the other group."""
    with transaction.atomic():
        _hold()
        _check_known(fingerprint, "fingerprint")
        _check_known(into, "into")
        head = head_of(into)
        if head_of(fingerprint) == head:
            raise InvalidArgument("both are the same failure group already: pick another group", "into")
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
    """Take the lock of changes, so that the second of two people sees the change of the first."""
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
    """Refuse an address that is not http or https: a script in it would run with the rights of the reader."""
    _check_length(url, URL_CHARACTERS, "runbook_url")
    if not url:
        return
    parts = None
    with suppress(ValueError):
        parts = urlsplit(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or url != "".join(url.split()):
        raise InvalidArgument("the runbook must be an address that begins with http:// or https://", "runbook_url")
