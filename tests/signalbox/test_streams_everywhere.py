"""Streams by every client: in the database and over HTTP, synchronous and not."""

from __future__ import annotations

import threading
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from signalbox import (
    Client,
    DeduplicationConflict,
    GroupNotFound,
    InvalidArgument,
    PartitionPreview,
    PayloadTooLarge,
    Place,
    StreamClosed,
    StreamNotFound,
)
from tests.signalbox.flavours import FLAVOURS, client_of


@pytest.fixture(params=FLAVOURS)
def verbs(request):
    is_database = request.param.startswith("database")
    address = (request.getfixturevalue("dsn"),) if is_database else request.getfixturevalue("api_address")
    with client_of(request.param, *address) as client:
        yield client


@pytest.fixture
def stream(client):
    name = f"everywhere-{uuid.uuid4().hex[:8]}"
    client.create_stream(name, {"partitions": 1, "max_payload_bytes": 1000})
    client.create_group(name, "g", point="beginning")
    return name


def test_from_the_first_message_to_a_seek(verbs, stream):
    assert verbs.create_stream(stream, {"partitions": 1}) > 0
    assert verbs.append(stream, {"n": 1}, key="k", attributes={"region": "eu"}) == Place(0, 1)
    assert verbs.append_batch(stream, [2, None], keys=["k", None], trace_ids=[None, "t"]) == [Place(0, 2), Place(0, 3)]
    assert verbs.join_group(stream, "g", "m", lease_seconds=60) == {0: 2}

    messages = verbs.read_stream(stream, "g", "m", 2)

    assert [message.payload for message in messages] == [{"n": 1}, 2]
    assert (messages[0].key, messages[0].attributes, messages[0].appended_at.tzinfo) == ("k", {"region": "eu"}, UTC)
    assert verbs.commit_messages(stream, "g", "m", messages)
    assert not verbs.commit_messages(stream, "g", "m", messages)
    (group,) = verbs.list_groups(stream)
    assert (group.name, group.queue, group.members, group.committed, group.lag_messages) == ("g", None, 1, 2, 1)
    assert group.committed_at is not None
    soon = datetime.now(UTC) + timedelta(seconds=60)
    assert [moved.messages for moved in verbs.seek(stream, "g", "time", at=soon, dry_run=True)] == [-1]
    assert verbs.seek(stream, "g", "offset", partition=0, position=1)[0][1:] == (2, 1, 1)
    assert [message.payload for message in verbs.read_stream(stream, "g", "m")] == [2, None]
    assert verbs.configure_group(stream, "g", {"filter": "payload.n:1"}, dry_run=True) == (True, 2, 2)
    assert verbs.configure_group(stream, "g", {"filter": ""}) == (False, 0, 0)
    assert verbs.set_group_filter(stream, "g", "payload.n:1")
    assert verbs.leave_group(stream, "g", "m") == 1
    (info,) = verbs.list_streams(stream)
    assert (info.name, info.tenant, info.settings["partitions"]) == (stream, "default", 1)
    assert verbs.create_group(stream, "other", point="time", at=soon) > 0
    assert verbs.drop_group(stream, "other")
    assert not verbs.drop_group(stream, "other")


def test_more_partitions_are_previewed_and_only_grow(verbs, stream):
    verbs.append(stream, 1)
    assert verbs.preview_partitions(stream, 4) == PartitionPreview(1, 1, 0.75, 1)
    verbs.configure_stream(stream, {"partitions": 4})
    assert len(verbs.join_group(stream, "g", "m")) == 4
    for refused in (
        lambda: verbs.configure_stream(stream, {"partitions": 3}),
        lambda: verbs.preview_partitions(stream, 3),
    ):
        with pytest.raises(InvalidArgument, match="has 4") as caught:
            refused()
        assert caught.value.field == "partitions"


def test_a_stream_is_renamed_and_deleted(verbs, stream):
    new = f"{stream}-new"
    assert verbs.rename_stream(stream, new) > 0
    assert [group.name for group in verbs.list_groups(new)] == ["g"]
    with pytest.raises(StreamNotFound):
        verbs.append(stream, 1)
    refused = {
        "new_name": lambda: verbs.rename_stream(new, "no name"),
        "name": lambda: verbs.delete_stream(new),  # it is open
    }
    for field, call in refused.items():
        with pytest.raises(InvalidArgument) as caught:
            call()
        assert caught.value.field == field
    verbs.configure_stream(new, {"closed": True})
    verbs.delete_stream(new)
    for call in (lambda: verbs.delete_stream(new), lambda: verbs.rename_stream(new, stream)):
        with pytest.raises(StreamNotFound):
            call()


def test_a_repeat_has_the_place_of_the_first(verbs, stream):
    first = verbs.append(stream, {"n": 1}, key="k", deduplication_id="one")
    assert verbs.append(stream, {"n": 1}, key="k", deduplication_id="one") == first == Place(0, 1)
    batch = {"keys": ["k", None, None], "deduplication_ids": ["one", None, "two"]}
    assert verbs.append_batch(stream, [{"n": 1}, 2, 3], **batch) == [Place(0, 1), Place(0, 2), Place(0, 3)]
    with pytest.raises(DeduplicationConflict, match="position 1 of partition 0"):
        verbs.append(stream, {"n": 2}, key="k", deduplication_id="one")
    with pytest.raises(InvalidArgument) as refused:
        verbs.append_batch(stream, [1, 2], deduplication_ids=["x", "y" * 201])
    assert str(refused.value.field).startswith("deduplication_id")
    verbs.configure_stream(stream, {"dedup_window_seconds": 60})
    (info,) = verbs.list_streams(stream)
    assert info.settings["dedup_window_seconds"] == 60
    assert [one.payload for one in verbs.read_stream(stream, "g", "m")] == [{"n": 1}, 2, 3]


def test_bytes_are_read_as_they_were_appended(verbs, stream):
    verbs.append(stream, b"\x00\xff", content_type="application/x-thing")
    verbs.append_batch(stream, [b"more", 7])
    first, second, third = verbs.read_stream(stream, "g", "m")
    assert (first.payload, first.content_type) == (b"\x00\xff", "application/x-thing")
    assert (second.payload, second.content_type) == (b"more", "application/octet-stream")
    assert (third.payload, third.content_type) == (7, None)
    with pytest.raises(InvalidArgument) as refused:
        verbs.append(stream, b"", content_type="nothing")
    assert refused.value.field == "content_type"


def test_a_read_waits_for_the_first_append(verbs, stream, client):
    assert verbs.read_stream(stream, "g", "m", wait_seconds=0.05) == []
    appending = threading.Timer(0.2, client.append, [stream, "news"])
    appending.start()
    try:
        (message,) = verbs.read_stream(stream, "g", "m", wait_seconds=60)
    finally:
        appending.join()
    assert message.payload == "news"


def test_what_is_wrong_has_the_same_name_at_every_door(verbs, stream, client: Client):
    for call in (lambda: verbs.append("nowhere", 1), lambda: verbs.list_groups("nowhere")):
        with pytest.raises(StreamNotFound, match="stream 'nowhere' does not exist"):
            call()
    with pytest.raises(GroupNotFound, match="group 'absent' does not exist"):
        verbs.read_stream(stream, "absent", "m")
    with pytest.raises(PayloadTooLarge):
        verbs.append(stream, "x" * 2000)
    refused = {
        "partitions": lambda: verbs.create_stream(f"{stream}-2", {"partitions": 100}),
        "retention_seconds": lambda: verbs.configure_stream(stream, {"retention_seconds": 1}),
        "partition": lambda: verbs.commit_offset(stream, "g", "m", Place(7, 1), 1),
        "through_position": lambda: verbs.commit_offset(stream, "g", "m", Place(0, 99), 1),
        "at": lambda: verbs.seek(stream, "g", "time"),
        "filter": lambda: verbs.configure_group(stream, "g", {"filter": "queue:x"}),
        "paused": lambda: verbs.configure_group(stream, "g", {"paused": True}),
        "key": lambda: verbs.append(stream, 1, key="k" * 300),
    }
    fields = {}
    for field, call in refused.items():
        with pytest.raises(InvalidArgument) as caught:
            call()
        fields[field] = caught.value.field
    assert fields == {field: field for field in refused}
    verbs.configure_stream(stream, {"closed": True})
    with pytest.raises(StreamClosed):
        verbs.append(stream, 1)


def test_an_offset_behind_retention_is_refused(verbs, stream, client, connection):
    client.append_batch(stream, [1, 2, 3])
    connection.execute(
        "update signalbox.stream_partition p set first_position = 3 from signalbox.stream s"
        " where s.stream_id = p.stream_id and s.name = %s",
        [stream],
    )
    connection.commit()
    with pytest.raises(InvalidArgument, match="retention has dropped") as caught:
        verbs.seek(stream, "g", "offset", partition=0, position=1)
    assert caught.value.field == "through_position"
    assert verbs.seek(stream, "g", "offset", partition=0, position=2)[0].to_position == 2
