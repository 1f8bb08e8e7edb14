"""Entry point to discards: what an action on a stream would take away, whether that waits, and the job that does it.

An action below the limit of its rule makes no job: the caller does it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from dlq.discards.models import Discard
from dlq.jobs import lifecycle, runner
from queues.control import streams
from queues.errors import StreamNotFound
from queues.stream_models import ConsumerGroup, Stream
from signalbox.calls.consumer_groups import Moved

Action = Discard.Action
LIMITS = ("retention_seconds", "retention_bytes", "retention_messages")
NO_LIMIT = 0


def of_deletion(stream: Stream) -> Discard:
    """Describe the deletion of a stream with all its messages."""
    return _discard(stream, Action.DELETE, kept(stream))


def of_settings(stream: Stream, settings: Mapping[str, Any]) -> Discard:
    """Describe a change of settings; it may delete any kept message if it keeps less."""
    lost = kept(stream) if keeps_less(stream, settings) else 0
    return _discard(stream, Action.KEEP_LESS, lost, settings=dict(settings))


def of_seek(group: ConsumerGroup, moved: Sequence[Moved]) -> Discard:
    """Describe a seek by its preview: each partition goes to the position of the preview, whatever comes later."""
    skipped = -sum(min(one.messages, 0) for one in moved)
    action, messages = (Action.SKIP, skipped) if skipped else (Action.REPEAT, sum(one.messages for one in moved))
    positions = {str(one.partition): one.to_position for one in moved}
    return _discard(group.stream, action, messages, group_name=group.name, settings=positions)


def kept(stream: Stream) -> int:
    """Count the positions that a stream keeps: some may have no message."""
    return sum(one.last_position - one.first_position + 1 for one in streams.read_bounds(stream))


def keeps_less(stream: Stream, settings: Mapping[str, Any]) -> bool:
    """Tell whether the settings keep fewer messages than the present ones."""
    compacts = bool(settings.get("compaction")) and not stream.compaction
    return compacts or any(_is_lower(settings[name], getattr(stream, name)) for name in LIMITS if name in settings)


def _is_lower(wanted: Any, present: int) -> bool:
    return isinstance(wanted, int | float) and wanted != NO_LIMIT and (present == NO_LIMIT or wanted < present)


def ask(discard: Discard, *, actor: str, reason: str) -> Discard | None:
    """Make the job that waits for an approval; None if the action needs none."""
    if not needs_approval(discard):
        return None
    discard.created_by, discard.reason = actor, reason
    return lifecycle.start(discard)


def needs_approval(discard: Discard) -> bool:
    """Tell whether the action takes more messages than its rule allows without an approval."""
    most = lifecycle.threshold(discard.rule_noun)
    return most is not None and discard.total_estimate > most


def _discard(stream: Stream, action: Action, messages: int, **more: Any) -> Discard:
    told = {"stream_id": stream.stream_id, "stream_name": stream.name, "total_estimate": messages}
    return Discard(action=action, total_is_exact=True, **told, **more)


def _batch(job: Discard, now: datetime) -> float | None:
    stream = Stream.objects.filter(pk=job.stream_id).first()
    if stream is None:
        raise StreamNotFound(f"stream '{job.stream_name}' does not exist")
    _DO[Action(job.action)](stream.name, job)
    job.discarded = job.total_estimate
    return None


def _delete(name: str, job: Discard) -> None:
    streams.delete_stream(name, actor=job.created_by, reason=job.reason)


def _configure(name: str, job: Discard) -> None:
    streams.configure_stream(name, job.settings, actor=job.created_by, reason=job.reason)


def _seek(name: str, job: Discard) -> None:
    for partition, position in job.settings.items():
        where = {"partition": int(partition), "position": position}
        streams.seek(name, job.group_name, "offset", actor=job.created_by, reason=job.reason, **where)


_DO: Mapping[Action, Callable[[str, Discard], None]] = {
    Action.DELETE: _delete,
    Action.KEEP_LESS: _configure,
    Action.SKIP: _seek,
    Action.REPEAT: _seek,
}
WORK = runner.Work(Discard, _batch)
cancel, run_slice, run_in_foreground = WORK.cancel, WORK.run_slice, WORK.run_in_foreground
