"""An operator looks at streams, makes groups, and lets one read again."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from dlq.masking.masks import MASK
from dlq.masking.rules import MaskingRule
from queues import messages
from queues.models import AuditEvent
from tests.console.browsers import Browser
from tests.console.masking.masks import no_rules_left as no_rules_left
from tests.engine import Engine
from tests.streams import Log, make_log


@pytest.fixture
def log(engine: Engine) -> Log:
    """A stream with a group that is four messages behind."""
    made = make_log(engine.connection, partitions=2, alert_group_lag_seconds=31_536_000)
    made.group("slow")
    for n in range(5):
        made.append({"n": n, "secret": "<script>alert(1)</script>"}, key="k")
    made.commit(made.read("worker-1", group="slow")[0], "worker-1", "slow")
    return made


def events(log: Log, action: str) -> list[AuditEvent]:
    return [one for one in AuditEvent.objects.filter(action=action) if one.details.get("stream") == log.name]


def test_the_list_says_who_is_furthest_behind(viewer: Browser, log: Log) -> None:
    (row,) = [row for row in viewer.see("/streams").rows() if row.startswith(log.name)]

    assert "slow" in row
    assert " 4 " in row


def test_a_streams_page_has_its_groups(viewer: Browser, log: Log) -> None:
    page = viewer.see(f"/streams/{log.name}")

    assert page.link("slow") == f"/streams/{log.name}/groups/slow"
    assert "2 partitions" in page.text
    assert "KB on disk" in page.text
    assert "deduplicated" not in page.text


def test_a_streams_page_counts_deduplicated_appends(viewer: Browser, log: Log) -> None:
    for _ in range(3):
        log.rows("select position from signalbox.append_deduplicated(%s, '1', 'again')", log.name)

    assert "2 deduplicated appends" in viewer.see(f"/streams/{log.name}").text


def test_a_groups_page_has_its_partitions_and_members(viewer: Browser, log: Log) -> None:
    page = viewer.see(f"/streams/{log.name}/groups/slow")

    assert "worker-1" in page.text
    assert "Lag in messages" in page.text
    assert "lag 4" in page.text


def test_a_group_is_drawn_as_far_back_as_it_is_kept(viewer: Browser, log: Log) -> None:
    page = viewer.see(f"/streams/{log.name}/groups/slow?range=90d")

    assert "This history is kept for 14 days" in page.text
    assert [one.text for one in page.all("a", aria_current="true")] == ["14d"]
    assert "90d" not in page.text


def test_what_was_lost_is_said(viewer: Browser, log: Log) -> None:
    log.connection.execute(
        "update signalbox.stream_partition p set first_position = 4"
        " where p.stream_id = %s and p.partition = signalbox._partition_of('k', 2)",
        [log.stream_id],
    )

    assert "2 messages expired unread: retention dropped them" in viewer.see(f"/streams/{log.name}/groups/slow").text


def test_messages_are_for_those_who_see_payloads(viewer: Browser, operator: Browser, log: Log) -> None:
    assert viewer.get(f"/streams/{log.name}/messages").status_code == 403
    partition = log.append("last", key="k")[0]

    page = operator.see(f"/streams/{log.name}/messages?partition={partition}")

    assert page.rows()[0].startswith('6 k "last"')
    assert "<script>alert(1)</script>" in page.text
    assert not [one for one in page.all("script") if "alert" in one.text]


@pytest.mark.usefixtures("no_rules_left")
def test_a_large_body_is_named_and_downloaded(viewer: Browser, operator: Browser, log: Log) -> None:
    payload = {"of": log.name, "text": "x" * 300_000}
    place = messages.client().append(log.name, payload, key="k")

    page = operator.see(f"/streams/{log.name}/messages?partition={place.partition}")
    address = f"/streams/{log.name}/bodies/{place.partition}/{place.position}"
    assert "293.0 KB, in the large-body store" in page.rows()[0]
    assert page.link("Download it") == address
    answer = operator.get(address)
    assert json.loads(answer.content) == payload
    assert (answer["Content-Type"], "attachment" in answer["Content-Disposition"]) == ("application/json", True)
    assert viewer.get(address).status_code == 403
    assert operator.get(f"/streams/{log.name}/bodies/{place.partition}/1").status_code == 404
    MaskingRule.objects.create(part="payload", path="text", queue_name=log.name, created_by="test")
    assert json.loads(operator.get(address).content) == payload | {"text": MASK}
    assert operator.see(f"/streams/{log.name}/messages?partition={place.partition}").rows()[0].startswith(f"6 {MASK}")


def test_a_preview_moves_nothing_and_the_seek_is_audited(admin: Browser, log: Log) -> None:
    address = f"/streams/{log.name}/groups/slow/seek"
    page = admin.see(f"{address}?point=beginning")

    assert "1 message will be read again" in page.text
    assert log.numbers("slow")[1] == 4

    admin.post(address, {"point": "beginning", "reason": "wrong totals"})

    assert log.numbers("slow")[1] == 5
    (event,) = events(log, "group.seek")
    assert (event.reason, event.details["group"]) == ("wrong totals", "slow")


def test_a_group_is_moved_to_an_offset_of_one_partition(admin: Browser, log: Log) -> None:
    address = f"/streams/{log.name}/groups/slow/seek"
    (partition,) = {row[0] for row in log.read("worker-1", group="slow")}

    page = admin.see(f"{address}?point=offset&partition={partition}&position=4")
    assert "3 will be skipped" in page.text
    assert "has none such" in admin.get(f"{address}?point=offset&partition={partition}&position=99").content.decode()
    assert "Enter the position" in admin.get(f"{address}?point=offset&partition={partition}").content.decode()

    admin.post(address, {"point": "offset", "partition": partition, "position": 4, "reason": "known bad"})
    assert log.numbers("slow")[1] == 1


def test_a_group_is_made_with_a_filter(admin: Browser, log: Log) -> None:
    address = f"/streams/{log.name}/new-group"
    answer = admin.post(address, {"name": "odd", "point": "beginning", "filter": "payload.n"})
    assert answer.status_code == 422

    admin.post(address, {"name": "odd", "point": "beginning", "filter": "payload.n:>=3"})
    assert [row[3]["n"] for row in log.read(group="odd")] == [3, 4]
    assert "payload.n:>=3" in admin.see(f"/streams/{log.name}/groups/odd").text


def test_a_filter_is_changed_after_a_preview(admin: Browser, log: Log) -> None:
    address = f"/streams/{log.name}/groups/slow/settings"
    assert "The filter skips 2 of the next 4 messages" in admin.see(f"{address}?filter=payload.n:%3E=3").text
    assert "Nothing changes" in admin.see(f"{address}?filter=").text
    assert admin.get(f"{address}?filter=queue:x").status_code == 422
    assert admin.post(address, {"filter": "payload.n:>=3", "reason": " "}).status_code == 422

    admin.post(address, {"filter": "payload.n:>=3", "reason": "only large ones"})

    (event,) = events(log, "group.configure")
    assert (event.reason, event.details["changes"]) == (
        "only large ones",
        {"filter": {"before": "", "after": "payload.n:>=3"}},
    )
    admin.post(f"/streams/{log.name}/groups/slow/pause")
    assert "the group slow sends to no queue" in admin.see(f"/streams/{log.name}/groups/slow").text


def test_a_subscription_of_a_stream_is_paused_and_gets_a_window(admin: Browser, log: Log, engine: Engine) -> None:
    log.group("fed", "beginning", queue=engine.queue)
    address = f"/streams/{log.name}/groups/fed"
    admin.post(f"{address}/pause")
    assert "paused" in admin.see(address).text
    page = admin.see("/subscriptions")
    assert page.one("button", aria_label=f"Resume {log.name} to {engine.queue}")

    admin.post(f"{address}/resume")
    change = {"filter": "", "queue_window": "7", "delay_seconds": "60", "reason": "slower"}
    admin.post(f"{address}/settings", change)

    assert "fewer than 7 messages, each with a delay of 1 m" in admin.see(address).text
    assert admin.post(f"{address}/settings", {**change, "queue_window": "0"}).status_code == 422


def test_a_seek_needs_a_reason(admin: Browser, log: Log) -> None:
    answer = admin.post(f"/streams/{log.name}/groups/slow/seek", {"point": "beginning", "reason": " "})

    assert answer.status_code == 422
    assert log.numbers("slow")[1] == 4


def test_a_time_is_asked_for_where_it_is_needed(admin: Browser, log: Log) -> None:
    answer = admin.get(f"/streams/{log.name}/groups/slow/seek?point=time")

    assert answer.status_code == 422
    assert "Enter a time, or choose another position." in answer.content.decode()


def test_a_stream_and_groups_are_made(admin: Browser, log: Log, engine: Engine) -> None:
    name = f"{log.name}-new"
    admin.post("/new-stream", {"name": name, "partitions": 3, "retention_seconds": 7200, "alert_group_lag_seconds": 60})
    admin.post(f"/streams/{name}/new-group", {"name": "billing", "point": "beginning"})
    admin.post(f"/streams/{name}/new-group", {"name": "mail", "point": "end", "queue": engine.queue})

    page = admin.see(f"/streams/{name}")
    assert "billing" in page.text
    assert f"subscription to {engine.queue}" in page.text
    (event,) = [one for one in AuditEvent.objects.filter(action="stream.create") if one.details["stream"] == name]
    assert event.details["settings"]["partitions"] == 3


SETTINGS = {
    "partitions": 2,
    "retention_seconds": 7200,
    "retention_bytes": 1_000_000,
    "retention_messages": 0,
    "dedup_window_seconds": 600,
    "alert_group_lag_seconds": 60,
    "max_payload_bytes": 1000,
    "reason": "too much",
}


def test_settings_of_a_stream_are_changed_and_audited(admin: Browser, log: Log) -> None:
    address = f"/streams/{log.name}/settings"
    assert admin.see(f"/streams/{log.name}").link("Settings…") == address
    assert admin.see(address).one("input", name="retention_seconds").attributes["value"] == "604800"

    values = {name: str(value) for name, value in SETTINGS.items()}
    admin.change(address, **values, closed="on", compaction="on")

    columns = "retention_seconds, retention_bytes, alert_group_lag_seconds, max_payload_bytes, closed and compaction"
    assert log.rows(f"select {columns} from signalbox.stream where stream_id = %s", log.stream_id) == [
        (7200, 1_000_000, 60, 1000, True)
    ]
    (event,) = events(log, "stream.configure")
    assert event.reason == "too much"
    assert event.details["changes"]["retention_seconds"] == {"before": 604_800, "after": 7200}
    assert set(event.details["changes"]) == {
        "retention_seconds",
        "retention_bytes",
        "dedup_window_seconds",
        "alert_group_lag_seconds",
        "max_payload_bytes",
        "closed",
        "compaction",
    }


def test_more_partitions_are_reviewed_with_what_they_do_to_keys(admin: Browser, log: Log) -> None:
    address = f"/streams/{log.name}/settings"
    present = log.value("select partitions from signalbox.stream where stream_id = %s", log.stream_id)
    page = admin.post(address, {**SETTINGS, "partitions": 2 * present}).content.decode()
    assert "50% of the keys" in page
    assert "close the stream, wait until the lag is 0" in page
    assert "can only grow" in admin.post(address, {**SETTINGS, "partitions": present - 1}).content.decode()

    admin.change(address, partitions=str(2 * present), reason="more members")

    assert [one.reason for one in events(log, "stream.configure")] == ["more members"]
    assert admin.get(f"/streams/{log.name}/messages?partition={2 * present - 1}").status_code == 200


@pytest.mark.parametrize("wrong", [{"retention_seconds": 1}, {"max_payload_bytes": 300_000}, {"reason": " "}])
def test_settings_out_of_range_change_nothing(admin: Browser, log: Log, wrong: dict[str, object]) -> None:
    assert admin.post(f"/streams/{log.name}/settings", {**SETTINGS, **wrong}).status_code == 422

    assert log.value("select retention_seconds from signalbox.stream where stream_id = %s", log.stream_id) == 604_800
    assert events(log, "stream.configure") == []


def test_a_bad_name_is_refused_beside_its_field(admin: Browser, log: Log) -> None:
    answer = admin.post(f"/streams/{log.name}/new-group", {"name": "no spaces", "point": "end"})

    assert answer.status_code == 422
    assert "starts with a letter or digit" in answer.content.decode()


def test_a_group_is_forgotten_by_its_typed_name(admin: Browser, log: Log) -> None:
    address = f"/streams/{log.name}/groups/slow/drop"
    assert admin.post(address, {"typed_name": "fast", "reason": "unused"}).status_code == 422

    admin.post(address, {"typed_name": "slow", "reason": "unused"})

    assert admin.get(f"/streams/{log.name}/groups/slow").status_code == 404
    assert [one.reason for one in events(log, "group.drop")] == ["unused"]


@pytest.mark.parametrize(
    "place",
    [
        "/new-stream",
        "/streams/S/settings",
        "/streams/S/new-group",
        "/streams/S/groups/slow/seek",
        "/streams/S/groups/slow/settings",
        "/streams/S/groups/slow/drop",
    ],
)
def test_a_user_without_the_right_to_configure_sees_the_reason(
    sign_in: Callable[[str], Browser], log: Log, place: str
) -> None:
    operator = sign_in("operator")

    assert operator.get(place.replace("/S", f"/{log.name}")).status_code == 403
    page = operator.see(f"/streams/{log.name}/groups/slow")
    assert [
        one.text for one in page.all("span") if "requires the admin role" in one.text and one.text.startswith("Seek")
    ]


@pytest.mark.parametrize("place", ["/streams/none", "/streams/S/groups/none", "/streams/none/groups/none"])
def test_what_is_not_there_is_not_found(admin: Browser, log: Log, place: str) -> None:
    assert admin.get(place.replace("/S", f"/{log.name}")).status_code == 404


def test_an_operator_appends_a_message_and_a_mistake_keeps_what_was_typed(
    viewer: Browser, operator: Browser, log: Log
) -> None:
    here = f"/streams/{log.name}/append"
    assert viewer.get(here).status_code == 403
    wrong = operator.post(here, {"payload": "{", "attributes": "[1]", "key": "<b>k"})
    assert wrong.status_code == 422
    assert b"&lt;b&gt;k" in wrong.content

    typed = {"payload": '{"n": 9}', "attributes": "", "key": "k", "deduplication_id": "nine"}
    assert [operator.post(here, typed).status_code for _ in range(2)] == [302, 302]
    event, again = events(log, "stream.append")
    assert again.details == event.details
    assert event.details.keys() == {"stream", "partition", "position"}
    assert '"n": 9' in operator.see(f"/streams/{log.name}/messages?partition={event.details['partition']}").text
