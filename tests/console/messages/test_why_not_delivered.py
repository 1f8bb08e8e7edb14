"""Causes of an undelivered message, each made by its own scenario, with a page that proves it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queues.control import queues, quotas
from queues.models import Tenant
from tests.console.browsers import Browser, Page
from tests.engine import Engine

MakeEngine = Callable[..., Engine]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is slow, and here that is no failure."""
    monkeypatch.setattr("queues.messages.story.SEARCH_MILLISECONDS", 60_000)


@pytest.fixture
def attended(make_engine: MakeEngine) -> MakeEngine:
    """Queue from which a consumer has just tried to receive."""

    def _make(**settings: object) -> Engine:
        engine = make_engine(**settings)
        engine.receive(consumer="worker-3")
        return engine

    return _make


def page_of(browser: Browser, engine: Engine, message_id: int) -> Page:
    page = browser.see(f"/queues/{engine.queue}/messages/{message_id}")
    for link in page.html.partition('class="waits"')[2].split("</ul>")[0].split('href="')[1:]:
        browser.see(link.split('"')[0].replace("&amp;", "&"))  # every proof is a page
    return page


def causes(page: Page) -> dict[str, str]:
    return {one.attributes["data-cause"]: one.text for one in page.all("li") if "data-cause" in one.attributes}


def only(browser: Browser, engine: Engine, message_id: int, code: str) -> str:
    found = causes(page_of(browser, engine, message_id))
    assert list(found) == [code]
    return found[code]


def test_its_time_has_not_come(operator: Browser, attended: MakeEngine) -> None:
    engine = attended()

    said = only(operator, engine, engine.send(delay_seconds=3_600), "scheduled")
    assert said.startswith("The message is scheduled for ")

    message_id = engine.send()
    engine.nack(engine.receive_one()[1], delay_seconds=600)
    assert "backoff after failed delivery 1" in only(operator, engine, message_id, "scheduled")


def test_a_leased_message_names_its_consumer(operator: Browser, attended: MakeEngine) -> None:
    engine = attended()
    message_id = engine.send()
    engine.receive(consumer="worker-3", visibility_timeout=600)

    said = only(operator, engine, message_id, "leased")

    assert said.startswith("The lease of worker-3 ends at ")
    assert said.endswith(" m. See the messages in flight")


def test_who_held_it_did_not_settle_it(operator: Browser, attended: MakeEngine) -> None:
    engine = attended()
    message_id = engine.send()
    engine.receive(consumer="worker-3", visibility_timeout=0)

    assert ", without an answer." in only(operator, engine, message_id, "expired")


def test_its_lane_is_busy(operator: Browser, attended: MakeEngine) -> None:
    engine = attended(mode="fifo")
    ahead, waiting = engine.send(1, group_id="acme"), engine.send(2, group_id="acme")
    handle = engine.receive_one(consumer="worker-3")[1]

    said = only(operator, engine, waiting, "lane")
    assert f"behind message {ahead} of group acme, in flight at worker-3 until " in said

    engine.nack(handle, delay_seconds=600)
    said = only(operator, engine, waiting, "lane")
    assert f"behind message {ahead} of group acme, in backoff until " in said
    assert said.endswith(f"See message {ahead}")


def test_the_message_ahead_is_ready_again(operator: Browser, attended: MakeEngine) -> None:
    engine = attended(mode="fifo")
    ahead, waiting = engine.send(1, group_id="acme"), engine.send(2, group_id="acme")
    engine.nack(engine.receive_one()[1], delay_seconds=0)

    said = only(operator, engine, waiting, "lane")

    assert said == f"Waiting behind message {ahead} of group acme, which is ready. See message {ahead}"


def test_its_lane_is_held_by_the_dead(operator: Browser, attended: MakeEngine) -> None:
    engine = attended(mode="fifo", fifo_block_on_dead_letter=True)
    dead, waiting = engine.send(1, group_id="acme"), engine.send(2, group_id="acme")
    engine.nack(engine.receive_one()[1], reason="rejected")

    assert f"behind message {dead}, a dead letter that blocks group acme" in only(
        operator, engine, waiting, "lane_dead"
    )


def test_its_lane_lets_one_go_at_a_time(operator: Browser, attended: MakeEngine) -> None:
    engine = attended(group_max_in_flight=10, group_release_interval_seconds=3_600)
    engine.send(1, group_id="acme")
    waiting = engine.send(2, group_id="acme")
    engine.ack(engine.receive_one()[1])

    said = only(operator, engine, waiting, "lane_open")

    assert "No message of group acme is in flight" in said
    assert "one every 1 h" in said


def test_the_queue_is_paused(operator: Browser, attended: MakeEngine) -> None:
    engine = attended()
    message_id = engine.send()
    queues.pause_queue(engine.queue, actor="ana", reason="</b> the mill is on fire")

    said = only(operator, engine, message_id, "paused")

    assert said.startswith("The queue is paused by ana, since ")
    assert "“</b> the mill is on fire”" in said


def test_no_consumer_receives(operator: Browser, engine: Engine) -> None:
    said = only(operator, engine, engine.send(), "no_consumer")

    assert said.startswith("No consumer has called receive in the last minute.")


def test_the_queue_has_enough_in_flight(operator: Browser, attended: MakeEngine) -> None:
    engine = attended(max_in_flight=2)
    for number in range(2):
        engine.send(number)
    engine.receive(2)
    message_id = engine.send()

    assert "The queue has 2 messages in flight (limit 2)." in only(operator, engine, message_id, "in_flight_queue")


def test_the_tenant_has_enough_in_flight(operator: Browser, attended: MakeEngine) -> None:
    engine, other = attended(), attended()
    tenant = Tenant.objects.create(name=f"tenant-of-{engine.queue}")
    for one in (engine, other):
        one.connection.execute(
            "update signalbox.queue set tenant_id = %s where queue_id = %s", [tenant.tenant_id, one.queue_id]
        )
    quotas.set_quota(tenant.name, {"max_in_flight": 1}, actor="ana")
    other.send()
    other.receive()

    said = only(operator, engine, engine.send(), "in_flight_tenant")

    assert said.startswith(f"The tenant {tenant.name} has reached its limit of messages in flight (1).")


def test_others_go_first(operator: Browser, attended: MakeEngine) -> None:
    engine = attended()
    engine.send(1, priority=5)
    engine.send(2)
    message_id = engine.send(3)
    engine.send(4)

    said = only(operator, engine, message_id, "behind")

    assert "Behind 1 of a higher priority and 1 that became ready earlier." in said
    assert "A message that has waited long enough goes ahead of a higher priority." in said


def test_what_is_ahead_is_counted_to_a_hundred(operator: Browser, attended: MakeEngine) -> None:
    engine = attended(aging_seconds=0)
    engine.rows("select signalbox.send(%s, '1') from generate_series(1, 150)", engine.queue)

    assert only(operator, engine, engine.send(), "behind").startswith(
        "Behind more than 100 that became ready earlier. See"
    )


def test_nothing_hinders_it(operator: Browser, attended: MakeEngine) -> None:
    engine = attended()

    said = only(operator, engine, engine.send(), "next")

    assert said.startswith(f"No message is ahead: the next receive from {engine.queue} delivers this message.")


def test_it_is_dead(operator: Browser, attended: MakeEngine) -> None:
    engine = attended()
    message_id = engine.send()
    engine.nack(engine.receive_one()[1], reason="rejected")

    assert "only a redrive delivers it again" in only(operator, engine, message_id, "dead")

    engine.value("select signalbox.configure_queue(%s, '{\"closed\": true}')", engine.queue)
    found = causes(page_of(operator, engine, message_id))
    assert list(found) == ["dead", "closed"]
    assert "is closed: it accepts no redrive until it is reopened." in found["closed"]


def test_a_closed_queue_still_delivers(operator: Browser, attended: MakeEngine) -> None:
    engine = attended()
    message_id = engine.send()
    engine.value("select signalbox.configure_queue(%s, '{\"closed\": true}')", engine.queue)

    only(operator, engine, message_id, "next")


def test_it_is_in_another_queue_now(operator: Browser, attended: MakeEngine) -> None:
    engine, other = attended(), attended()
    message_id = engine.send()
    engine.nack(engine.receive_one()[1], reason="rejected")
    engine.rows(
        "select * from signalbox.redrive((select array_agg(dead_letter_id) from signalbox.dead_letter"
        " where message_id = %s), %s)",
        message_id,
        other.queue,
    )

    assert f"The message was redriven to {other.queue}" in only(operator, engine, message_id, "elsewhere")
    only(operator, other, message_id, "next")


def test_all_causes_are_listed(operator: Browser, make_engine: MakeEngine) -> None:
    engine = make_engine()
    engine.send(1)
    message_id = engine.send(2)
    queues.pause_queue(engine.queue, actor="ana", reason="x")

    assert list(causes(page_of(operator, engine, message_id))) == ["paused", "no_consumer", "behind"]


def test_what_is_over_waits_for_nothing(operator: Browser, attended: MakeEngine) -> None:
    engine = attended()
    done, purged = engine.send(), engine.send()
    engine.ack(engine.receive_one()[1])
    engine.value("select signalbox.purge(%s)", engine.queue)

    assert causes(page_of(operator, engine, done)) == causes(page_of(operator, engine, purged)) == {}
