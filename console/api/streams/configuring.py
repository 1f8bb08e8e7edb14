"""Creation, settings and lists of streams and their groups for the API, within the key's tenant and prefix."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from console.access.api_keys import Key
from console.api.core.name_pages import page_of
from console.api.core.problems import Problem, problem_of
from console.api.queues.configuring import check_reach
from console.api.streams.known_streams import forget, stream_not_found
from console.api.streams.shapes import (
    GroupChange,
    GroupChanges,
    GroupDocument,
    GroupPartition,
    MorePartitions,
    MovedPartition,
    NewGroup,
    NewStream,
    PartitionBounds,
    PartitionPreview,
    Seek,
    StreamDocument,
    StreamListing,
    StreamRename,
    StreamSettings,
)
from dlq.discards import discards
from dlq.discards.models import Discard
from dlq.filters import parse
from dlq.jobs import lifecycle
from dlq.masking.rules import Masking
from queues.control import streams as control
from queues.control.streams import GroupNumbers
from queues.errors import GroupNotFound, InvalidArgument, StreamNotFound
from queues.reach import SYSTEM_TENANT
from queues.stream_models import ConsumerGroup, Stream


def create(key: Key, wanted: NewStream) -> tuple[int, dict[str, Any]]:
    """Create a stream: 201 and the new stream, or 200 and the existing stream if its settings are equal."""
    tenant = wanted.tenant or key.tenant
    check_reach(key, wanted.name, tenant or "default")
    there = Stream.objects.select_related("tenant").filter(name=wanted.name).first()
    if there is not None and not key.reaches(wanted.name, there.tenant.name):
        raise Problem.of_field("name", f"The name {wanted.name!r} is taken.", kind="stream-exists")
    try:
        stream, made = control.make_stream(wanted.name, wanted.settings, tenant=tenant, actor=key.actor)
    except InvalidArgument as error:
        if there is None:
            raise
        # The request was valid, so this error means that the existing stream has other settings.
        inside = problem_of(error)
        raise Problem("stream-exists", inside.detail, errors=inside.errors) from error
    return (201 if made else 200), document(stream)


def configure(key: Key, name: str, changes: StreamSettings) -> dict[str, Any]:
    """Change settings and return the stream. Settings that keep much less need a person in the console."""
    _check_approval(discards.of_settings(_stream(name), changes.settings))
    return document(control.configure_stream(name, changes.settings, actor=key.actor))


def preview_partitions(name: str, wanted: MorePartitions) -> dict[str, Any]:
    """Compute what more partitions would do."""
    return PartitionPreview.of(control.preview_partitions(name, wanted.partitions))


def rename(key: Key, name: str, wanted: StreamRename) -> dict[str, Any]:
    """Rename a stream within the key's reach, with its masking rules."""
    check_reach(key, wanted.new_name, _stream(name).tenant.name, "newName")
    control.rename_stream(name, wanted.new_name, actor=key.actor, reason=wanted.reason)
    forget(name)
    return document(_stream(wanted.new_name))


def delete(key: Key, name: str) -> None:
    """Delete a stream. InvalidArgument says what is in the way."""
    _check_approval(discards.of_deletion(_stream(name)))
    control.delete_stream(name, actor=key.actor, reason="")
    forget(name)


def page(key: Key, wanted: StreamListing) -> dict[str, Any]:
    """Return the streams that the key reaches, by name, after the cursor."""
    shown, after = page_of(_reached(key), wanted)
    return {"streams": [document(stream) for stream in shown], "nextCursor": after}


def with_positions(name: str) -> dict[str, Any]:
    """Return a stream and the positions of each partition."""
    stream = _stream(name)
    bounds = [PartitionBounds.of(one) for one in control.read_bounds(stream)]
    return {**document(stream), "positions": bounds}


def create_group(key: Key, name: str, wanted: NewGroup) -> tuple[int, dict[str, Any]]:
    """Create a consumer group: 201, or 200 if it exists."""
    known = ConsumerGroup.objects.filter(stream__name=name, name=wanted.name).exists()
    options = {"point": wanted.point, "at": wanted.at, "queue": wanted.queue, "queue_window": wanted.queue_window}
    made = control.create_group(name, wanted.name, actor=key.actor, **options)
    return (200 if known else 201), _group_documents(key, [made])[0]


def groups(key: Key, name: str) -> dict[str, Any]:
    """Return the consumer groups of a stream, with their lag."""
    of_stream = ConsumerGroup.objects.select_related("queue__tenant").filter(stream=_stream(name)).order_by("name")
    return {"groups": _group_documents(key, list(of_stream))}


def group(key: Key, name: str, group_name: str) -> dict[str, Any]:
    """Return a consumer group with its partitions."""
    found = _group(name, group_name)
    partitions = [GroupPartition.of(one) for one in control.read_partitions(found)]
    settings = {
        "filter": found.filter,
        "queueWindow": found.queue_window,
        "delaySeconds": found.delay_seconds,
        "paused": found.paused,
    }
    more = {**settings, "skipped": control.read_skipped(found), "partitions": partitions}
    return {**_group_documents(key, [found])[0], **more}


def configure_group(key: Key, name: str, group_name: str, wanted: GroupChanges) -> dict[str, Any]:
    """Change settings of a group, or compute what would change. Refuses a filter that asks for masked values."""
    _check_fed_queue(key, _group(name, group_name))
    Masking().check(parse(wanted.filter or ""), name)
    if wanted.dry_run:
        change = control.preview_group(name, group_name, wanted.settings)
    else:
        change = control.configure_group(name, group_name, wanted.settings, actor=key.actor, reason=wanted.reason)
    return GroupChange.of(change)


def drop_group(key: Key, name: str, group_name: str) -> None:
    """Delete a consumer group and its offsets."""
    _check_fed_queue(key, _group(name, group_name))
    control.drop_group(name, group_name, actor=key.actor, reason="")


def seek(key: Key, name: str, group_name: str, wanted: Seek) -> dict[str, Any]:
    """Move a group, or compute what would move."""
    _check_fed_queue(key, _group(name, group_name))
    where = {"at": wanted.at, "partition": wanted.partition, "position": wanted.position}
    moved = control.preview_seek(name, group_name, wanted.point, **where)
    if not wanted.dry_run:
        _check_approval(discards.of_seek(_group(name, group_name), moved))
        moved = control.seek(name, group_name, wanted.point, actor=key.actor, reason=wanted.reason, **where)
    return {"partitions": [MovedPartition.of(one) for one in moved]}


def document(stream: Stream) -> dict[str, Any]:
    """Return a stream with all settings."""
    return StreamDocument.of(stream, stream_id=f"s_{stream.stream_id}", tenant=stream.tenant.name)


def _group_documents(key: Key, of_stream: list[ConsumerGroup]) -> list[dict[str, Any]]:
    return [_group_document(key, numbers) for numbers in control.read_groups(of_stream)]


def _group_document(key: Key, numbers: GroupNumbers) -> dict[str, Any]:
    queue = numbers.group.queue
    return GroupDocument.of(
        numbers,
        group_id=f"g_{numbers.group.group_id}",
        name=numbers.group.name,
        queue=queue.name if queue and key.reaches(queue.name, queue.tenant.name) else None,
        lost_messages=numbers.lost,
    )


def _check_approval(discard: Discard) -> None:
    """Refuse an action that takes more messages than a program may take without a second person."""
    if discards.needs_approval(discard):
        most = lifecycle.threshold(discard.rule_noun)
        detail = f"This touches {discard.total_estimate} messages of {discard.stream_name}; the limit is {most}."
        raise Problem("approval-required", detail, limit=most, actual=discard.total_estimate)


def _check_fed_queue(key: Key, group: ConsumerGroup) -> None:
    """Refuse to move or delete a subscription whose queue the key does not reach."""
    queue = group.queue
    if queue and not key.reaches(queue.name, queue.tenant.name):
        detail = f"the group {group.name!r} feeds a queue that the key {key.name} does not reach"
        raise Problem.of_field("group", detail, kind="out-of-reach")


def _stream(name: str) -> Stream:
    try:
        return control.get_stream(name)
    except StreamNotFound as error:
        raise stream_not_found(name) from error


def _group(name: str, group_name: str) -> ConsumerGroup:
    if "\x00" in group_name:
        raise GroupNotFound(f"group {group_name[:120]!r} does not exist")
    return control.get_group(_stream(name), group_name)


def _reached(key: Key) -> QuerySet[Stream]:
    streams = Stream.objects.select_related("tenant").order_by("name").exclude(tenant__name=SYSTEM_TENANT)
    if key.tenant is not None:
        streams = streams.filter(tenant__name=key.tenant)
    return streams.filter(name__startswith=key.prefix) if key.prefix else streams
