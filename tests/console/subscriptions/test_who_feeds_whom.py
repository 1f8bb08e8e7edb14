"""The page of subscriptions: a picture and a list of who feeds whom, and the actions on one subscription."""

from __future__ import annotations

from collections.abc import Callable

from console.subscriptions.picture import draw
from queues.control.subscriptions import Feed, read_feed
from tests.console.browsers import Browser
from tests.engine import Engine

MakeEngine = Callable[..., Engine]


def test_a_subscription_is_made_paused_resumed_and_ended_by_clicks(
    operator: Browser, admin: Browser, make_engine: MakeEngine
) -> None:
    source, target = make_engine(), make_engine()
    made = admin.post(
        f"/queues/{source.queue}/new-subscription",
        {"target": target.queue, "filter": "payload.kind:paid", "delay_seconds": ""},
    )
    assert made.status_code == 302
    here = f"/queues/{source.queue}/subscriptions/{target.queue}"
    assert admin.post(f"{here}/pause").status_code == 302
    source.send({"kind": "paid"})

    page = operator.see("/subscriptions")
    (row,) = [row for row in page.rows() if target.queue in row]
    assert row.startswith(source.queue)
    assert "payload.kind:paid" in row
    assert "paused" in row
    assert f">{source.queue}<title>" in page.html, "the picture has its box"
    assert read_feed(source.queue, target.queue).lag == 1  # type: ignore[union-attr]

    assert "1 held copy will be lost." in admin.see(f"{here}/end").text
    assert admin.post(f"{here}/resume").status_code == 302
    source.value("select signalbox.feed_queues()")
    assert [row[3] for row in target.receive()] == [{"kind": "paid"}]
    assert admin.post(f"{here}/end", {"reason": "no longer needed"}).status_code == 302
    assert read_feed(source.queue, target.queue) is None
    assert admin.post(f"{here}/pause").status_code == 404


def test_a_mistake_is_shown_at_its_field(admin: Browser, make_engine: MakeEngine) -> None:
    source, target = make_engine(), make_engine()
    target.value("select signalbox.subscribe(%s, %s)", target.queue, source.queue)
    address = f"/queues/{source.queue}/new-subscription"
    circle = admin.post(address, {"target": target.queue, "filter": ""})
    assert circle.status_code == 422
    assert b"would make a circle" in circle.content
    unread = admin.post(address, {"target": target.queue, "filter": "<b>age:>1h"})
    assert unread.status_code == 422
    assert b"&lt;b&gt;age" in unread.content
    assert b"<b>age" not in unread.content


def test_each_box_stands_to_the_right_of_those_that_feed_it() -> None:
    feeds = [
        Feed("a", "c", "t"),
        Feed("b", "c", "t", group="g", lag=3, lag_seconds=0.4),  # moves
        Feed("c", "d", "t", lag=7, lag_seconds=90),
        Feed("a", "d", "t", paused=True),
    ]
    picture = draw(feeds)
    assert picture is not None
    columns = {box.name: box.x for box in picture.boxes}
    assert columns["a"] == columns["b"] < columns["c"] < columns["d"]
    assert [line.label for line in picture.lines] == ["", "3", "7", "paused"]
    assert [line.tone for line in picture.lines] == ["done", "done", "bad", "scheduled"]
    assert draw([]) is None
    assert draw([Feed(str(number), "x", "t") for number in range(100)]) is None
