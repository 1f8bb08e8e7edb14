"""/v1/streams: one route for each verb of a stream, under the verb's name."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Path, Query, Router

from console.api.core import database, idempotency
from console.api.core.authentication import ApiKey
from console.api.core.database import in_thread
from console.api.core.disconnects import unless_gone
from console.api.core.idempotency import once_in_thread
from console.api.core.responses import answer, nothing
from console.api.queues.known_queues import reached_queue
from console.api.streams import appending, configuring, shapes
from console.api.streams.known_streams import reached_stream
from console.api.waiting.streams import read_until
from signalbox import AsyncClient, Place

STREAM = "/streams/{segment:stream}"
MESSAGES = f"{STREAM}/messages"
GROUPS = f"{STREAM}/groups"
GROUP = f"{GROUPS}/{{segment:group}}"

router = Router(tags=["streams"], by_alias=True)


@router.post("/streams", auth=ApiKey("configure"), response={201: shapes.StreamDocument, 200: shapes.StreamDocument})
async def create_stream(request: Any, wanted: shapes.NewStream) -> HttpResponse:
    """Create a stream. A repetition with equal settings changes nothing and answers 200; other settings are refused."""
    return await once_in_thread(request, lambda made: answer(*made), configuring.create, request.auth, wanted)


@router.get("/streams", auth=ApiKey("read"), response={200: shapes.StreamPage})
async def list_streams(request: Any, wanted: Query[shapes.StreamListing]) -> HttpResponse:
    """List the streams that the API key reaches."""
    return answer(200, await in_thread(configuring.page, request.auth, wanted))


@router.get(STREAM, auth=ApiKey("read"), response={200: shapes.StreamWithPositions})
async def get_stream(request: Any, stream: Path[str]) -> HttpResponse:
    """Describe a stream: its settings, and the positions of each partition."""
    await reached_stream(request.auth, stream)
    return answer(200, await in_thread(configuring.with_positions, stream))


@router.patch(STREAM, auth=ApiKey("configure"), response={200: shapes.StreamDocument})
async def configure_stream(request: Any, stream: Path[str], changes: shapes.StreamSettings) -> HttpResponse:
    await reached_stream(request.auth, stream)
    return answer(200, await in_thread(configuring.configure, request.auth, stream, changes))


@router.post(f"{STREAM}:preview-partitions", auth=ApiKey("configure"), response={200: shapes.PartitionPreview})
async def preview_partitions(request: Any, stream: Path[str], wanted: shapes.MorePartitions) -> HttpResponse:
    """Compute what more partitions would do, and change nothing."""
    await reached_stream(request.auth, stream)
    return answer(200, await in_thread(configuring.preview_partitions, stream, wanted))


@router.post(f"{STREAM}:rename", auth=ApiKey("configure"), response={200: shapes.StreamDocument})
async def rename_stream(request: Any, stream: Path[str], wanted: shapes.StreamRename) -> HttpResponse:
    """Refuse the old name at once; messages, groups and offsets stay."""
    await reached_stream(request.auth, stream)
    return answer(200, await in_thread(configuring.rename, request.auth, stream, wanted))


@router.delete(STREAM, auth=ApiKey("configure"), response={204: None})
async def delete_stream(request: Any, stream: Path[str]) -> HttpResponse:
    """Refuse a stream that is open, sends to a queue, captures a table or has a member that reads."""
    await reached_stream(request.auth, stream)
    await in_thread(configuring.delete, request.auth, stream)
    return nothing()


@router.post(MESSAGES, auth=ApiKey("send"), response={202: shapes.Appended})
async def append(request: Any, stream: Path[str], message: shapes.NewStreamMessage) -> HttpResponse:
    await reached_stream(request.auth, stream)

    async def effect(client: AsyncClient) -> HttpResponse:
        return answer(202, appending.place(await client.append(stream, message.body, **appending.options(message))))

    return await idempotency.once(request, effect)


@router.post(f"{MESSAGES}:batch", auth=ApiKey("send"), response={200: shapes.AppendedBatch})
async def append_batch(request: Any, stream: Path[str], batch: shapes.StreamBatch) -> HttpResponse:
    await reached_stream(request.auth, stream)

    async def effect(client: AsyncClient) -> HttpResponse:
        return answer(200, {"places": await appending.append_all(client, stream, batch.messages)})

    return await idempotency.once(request, effect)


@router.get(GROUPS, auth=ApiKey("read"), response={200: shapes.Groups})
async def list_groups(request: Any, stream: Path[str]) -> HttpResponse:
    await reached_stream(request.auth, stream)
    return answer(200, await in_thread(configuring.groups, request.auth, stream))


@router.post(GROUPS, auth=ApiKey("configure"), response={201: shapes.GroupDocument, 200: shapes.GroupDocument})
async def create_group(request: Any, stream: Path[str], wanted: shapes.NewGroup) -> HttpResponse:
    """Create a consumer group that reads from a point on. A group that exists stays as it is: 200."""
    await reached_stream(request.auth, stream)
    if wanted.queue is not None:
        await reached_queue(request.auth, wanted.queue)
    return answer(*await in_thread(configuring.create_group, request.auth, stream, wanted))


@router.get(GROUP, auth=ApiKey("read"), response={200: shapes.GroupWithPartitions})
async def get_group(request: Any, stream: Path[str], group: Path[str]) -> HttpResponse:
    """Describe a consumer group: its lag, and the offset and the reader of each partition."""
    await reached_stream(request.auth, stream)
    return answer(200, await in_thread(configuring.group, request.auth, stream, group))


@router.patch(GROUP, auth=ApiKey("configure"), response={200: shapes.GroupChange})
async def configure_group(
    request: Any, stream: Path[str], group: Path[str], changes: shapes.GroupChanges
) -> HttpResponse:
    """Change settings of a consumer group; with `dryRun`, answer what would change.

    With another filter, the answer says how many of the next unread messages it skips.
    """
    await reached_stream(request.auth, stream)
    return answer(200, await in_thread(configuring.configure_group, request.auth, stream, group, changes))


@router.delete(GROUP, auth=ApiKey("configure"), response={204: None})
async def drop_group(request: Any, stream: Path[str], group: Path[str]) -> HttpResponse:
    """Delete a consumer group and its offsets."""
    await reached_stream(request.auth, stream)
    await in_thread(configuring.drop_group, request.auth, stream, group)
    return nothing()


@router.post(f"{GROUP}:join", auth=ApiKey("receive"), response={200: shapes.Membership})
async def join_group(request: Any, stream: Path[str], group: Path[str], wanted: shapes.Join) -> HttpResponse:
    """Join a consumer group, or stay in it, for `leaseSeconds`. A read also joins."""
    await reached_stream(request.auth, stream)
    epochs = await database.client().join_group(stream, group, wanted.member, lease_seconds=wanted.lease_seconds)
    owned = [{"partition": partition, "epoch": epoch} for partition, epoch in epochs.items()]
    return answer(200, {"partitions": owned})


@router.post(f"{GROUP}:leave", auth=ApiKey("receive"), response={200: shapes.Left})
async def leave_group(request: Any, stream: Path[str], group: Path[str], wanted: shapes.Member) -> HttpResponse:
    """Give back the partitions of a member that ends."""
    await reached_stream(request.auth, stream)
    return answer(200, {"partitions": await database.client().leave_group(stream, group, wanted.member)})


@router.post(f"{GROUP}:read", auth=ApiKey("receive"), response={200: shapes.StreamMessages})
async def read_stream(request: Any, stream: Path[str], group: Path[str], wanted: shapes.ReadGroup) -> HttpResponse:
    """Read messages of this member's partitions; the call waits up to `waitSeconds` for the first.

    The same messages are returned until they are committed.
    """
    await reached_stream(request.auth, stream)
    reading = (stream, group, wanted.member, wanted.max_messages)
    messages = await database.client().read_stream(*reading)
    if not messages and wanted.wait_seconds:
        request.measured.waits()
        waiting = read_until(lambda: database.client().read_stream(*reading), stream, wanted.wait_seconds)
        messages = await unless_gone(request, waiting, appending.nothing_to_undo)
        await reached_stream(request.auth, stream)
    return answer(200, {"messages": [appending.message(one) for one in messages]})


@router.post(f"{GROUP}:commit", auth=ApiKey("receive"), response={200: shapes.Commits})
async def commit_offset(request: Any, stream: Path[str], group: Path[str], wanted: shapes.Commit) -> HttpResponse:
    """Commit that the group has read partitions up to these positions; each offset by itself."""
    await reached_stream(request.auth, stream)

    async def effect(client: AsyncClient) -> HttpResponse:
        results = []
        for one in wanted.offsets:
            place = Place(one.partition, one.position)
            held = await client.commit_offset(stream, group, wanted.member, place, one.epoch)
            results.append({**appending.place(place), "status": "committed" if held else "lost"})
        return answer(200, {"results": results})

    return await idempotency.once(request, effect)


@router.post(f"{GROUP}:seek", auth=ApiKey("configure"), response={200: shapes.Moves})
async def seek(request: Any, stream: Path[str], group: Path[str], wanted: shapes.Seek) -> HttpResponse:
    """Move a consumer group to another point; with `dryRun`, answer what would move.

    Commits of messages that members have read before are refused from then on.
    """
    await reached_stream(request.auth, stream)
    return answer(200, await in_thread(configuring.seek, request.auth, stream, group, wanted))
