"""Queues read from Spark: messages as rows, without leases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.engine import Engine

pytestmark = pytest.mark.timeout(600)


def look(source: Any, url: str, engine: Engine, **options: Any) -> Any:
    return source.read.format("signalbox").options(url=url, queue=engine.queue, **options).load()


def test_messages_are_seen_where_they_stand_and_stay_there(source: Any, url: str, engine: Engine) -> None:
    ready = engine.send({"n": 1}, attributes={"k": "v"}, group_id="g", priority=3)
    scheduled = engine.send({"n": 2}, delay_seconds=3600)
    leased = engine.send([3], priority=9)
    engine.receive_one()
    before = engine.counted()

    rows = {row["message_id"]: row for row in look(source, url, engine).collect()}

    assert {row["state"]: id for id, row in rows.items()} == {"ready": ready, "scheduled": scheduled, "leased": leased}
    row = rows[ready]
    assert (row["payload"], row["attributes"], row["group_id"], row["priority"], row["receive_count"]) == (
        '{"n": 1}',
        '{"k": "v"}',
        "g",
        3,
        0,
    )
    assert (rows[leased]["payload"], rows[leased]["receive_count"]) == ("[3]", 1)
    assert rows[leased]["deadline"] > rows[leased]["since"] >= rows[leased]["sent_at"]
    assert engine.counted() == before


def test_columns_and_filters_choose(source: Any, url: str, engine: Engine) -> None:
    ids = [engine.send({"n": n}, group_id=f"g{n % 2}") for n in range(6)]
    engine.send({"later": True}, delay_seconds=3600)
    soon = (datetime.now(UTC) + timedelta(days=1)).isoformat()

    chosen = look(source, url, engine, columns="message_id, payload", state="ready", group_id="g1", sent_until=soon)
    none = look(source, url, engine, sent_from=soon)

    assert chosen.columns == ["message_id", "payload"]
    assert sorted(row[0] for row in chosen.collect()) == ids[1::2]
    assert none.collect() == []
    assert len(look(source, url, engine, max_messages=4).collect()) == 4


@pytest.mark.proof
def test_several_tasks_see_each_message_once(source: Any, url: str, engine: Engine) -> None:
    ids = [engine.send(n) for n in range(50)]

    read = look(source, url, engine, columns="message_id", partitions=4)

    assert sorted(row[0] for row in read.collect()) == ids
    assert read.selectExpr("spark_partition_id() p").distinct().count() > 1


def test_what_waits_for_its_lane_is_seen(source: Any, url: str, make_engine: Any) -> None:
    engine = make_engine(group_max_in_flight=1)
    for n in range(3):
        engine.send(n, group_id="g")

    engine.receive_one()

    assert sorted(row["state"] for row in look(source, url, engine).collect()) == ["leased", "waiting", "waiting"]
