"""An operator looks at a queue's lanes: which group waits, for whom, and gives one a limit of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from metrics.diagnosis import diagnosis
from queues.control import queues
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")


@pytest.fixture
def limited(make_engine: Callable[..., Engine]) -> Engine:
    """A queue that lets one message of a group through, with two groups waiting."""
    engine = make_engine(group_max_in_flight=1)
    for group in ("acme", "<b>bold</b>"):
        for number in range(3):
            engine.send(number, group_id=group)
    engine.receive(10, consumer="worker-7")
    return engine


def lanes(browser: Browser, engine: Engine, query: str = "") -> Page:
    return browser.see(f"/queues/{engine.queue}/groups{query}")


def test_a_lane_shows_what_waits_and_who_holds_it_up(viewer: Browser, limited: Engine) -> None:
    page = lanes(viewer, limited)

    bold, acme = page.rows()
    assert acme.startswith("acme 2 ")
    assert "with worker-7, until" in acme
    assert bold.startswith("<b>bold</b> 2 ")
    assert [row.split()[0] for row in viewer.see(page.link("Group")).rows()] == ["<b>bold</b>", "acme"]


def test_the_verdict_does_not_say_that_nothing_waits(
    viewer: Browser, limited: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "BACKLOG_SECONDS", 3600.0)  # however slow this machine is, they have just come
    assert "Messages are waiting for their message groups." in viewer.see(f"/queues/{limited.queue}").text


def test_one_lane_is_found_by_its_group(viewer: Browser, limited: Engine) -> None:
    assert len(lanes(viewer, limited, "?group=acme").rows()) == 1
    assert "No such message group" in lanes(viewer, limited, "?group=nobody").text


def test_lanes_follow_page_by_page(viewer: Browser, make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(mode="fifo")
    for number in range(120):
        engine.send(group_id=f"g{number:03}")

    seen, page = [], lanes(viewer, engine)
    while True:
        seen += [row.split()[0] for row in page.rows()]
        if not page.all("a", rel="next"):
            break
        page = viewer.see(page.link("Next page"))
    assert seen == [f"g{number:03}" for number in range(120)]


def test_a_queue_without_limits_says_what_they_are_for(viewer: Browser, engine: Engine) -> None:
    assert "Message groups are neither limited nor shared" in lanes(viewer, engine).text


def test_a_shared_queue_says_so_and_has_no_limits_to_set(viewer: Browser, make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(fair_groups=True)
    assert "No message groups" in lanes(viewer, engine).text
    for group in ("acme", "acme", "other"):
        engine.send(group_id=group)

    page = lanes(viewer, engine)

    assert "shared: one message of each group in turn, without a limit in flight" in page.text
    assert [row.split()[:2] for row in page.rows()] == [["acme", "2"], ["other", "1"]]
    assert "Limits of one group" not in page.text


def test_an_admin_gives_a_group_a_limit_of_its_own(admin: Browser, limited: Engine) -> None:
    page = admin.submit(
        f"/queues/{limited.queue}/groups/limit", group_id="acme", max_in_flight="2", reason="a large order"
    )

    assert "The group acme has a limit of 2 messages in flight." in page.text
    assert len(limited.receive(10)) == 1
    event = AuditEvent.objects.get(queue_name=limited.queue, action="lane.limit")
    assert (event.reason, event.details) == ("a large order", {"group_id": "acme", "max_in_flight": 2})

    admin.submit(f"/queues/{limited.queue}/groups/limit", group_id="acme", max_in_flight="")
    assert limited.value("select count(*) from signalbox.lane_limit where queue_id = %s", limited.queue_id) == 0


@pytest.mark.parametrize(("group", "most"), [("", "2"), ("acme", "0"), ("acme", "1001"), ("acme", "many")])
def test_a_limit_that_cannot_be_is_refused(admin: Browser, limited: Engine, group: str, most: str) -> None:
    page = admin.submit(f"/queues/{limited.queue}/groups/limit", group_id=group, max_in_flight=most)

    assert "Nothing was saved." in page.one("div", id="form-errors").text
    assert (page.fields()["group_id"], page.fields()["max_in_flight"]) == (group, most)
    assert limited.value("select count(*) from signalbox.lane_limit where queue_id = %s", limited.queue_id) == 0


def test_a_queue_that_limits_nothing_refuses_a_limit_of_its_own(admin: Browser, engine: Engine) -> None:
    page = admin.submit(f"/queues/{engine.queue}/groups/limit", status=422, group_id="acme", max_in_flight="2")

    assert "Limit needs a queue that limits its groups" in page.text


def test_the_page_of_a_waiting_message_says_what_it_waits_for(operator: Browser, limited: Engine) -> None:
    waiting = limited.value("select min(message_id) from signalbox.waiting where queue_id = %s", limited.queue_id)

    page = operator.see(f"/queues/{limited.queue}/messages/{waiting}")
    assert "in group acme, which has reached its limit of messages in flight" in page.text
    assert len(operator.see(f"/queues/{limited.queue}/messages?state=waiting").rows()) == 4


def test_a_dead_message_that_holds_its_group_is_named(operator: Browser, make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(mode="fifo", fifo_block_on_dead_letter=True)
    dead, waiting = engine.send(1, group_id="acme"), engine.send(2, group_id="acme")
    engine.nack(engine.receive_one()[1], reason="rejected")

    (row,) = lanes(operator, engine).rows()
    assert f"{dead} dead: the group waits until it is redriven, deleted or purged" in row
    page = operator.see(f"/queues/{engine.queue}/messages/{waiting}")
    assert f"behind message {dead}, a dead letter that blocks group acme until it is redriven" in page.text


def test_mode_is_chosen_for_a_new_queue(admin: Browser, engine: Engine) -> None:
    form = admin.see("/new-queue")
    admin.submit("/new-queue", **form.fields() | {"name": f"{engine.queue}-fifo", "mode": "fifo"})

    assert queues.get_queue(f"{engine.queue}-fifo").mode == "fifo"
