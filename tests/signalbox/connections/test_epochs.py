"""Choosing one of several hosts, with hosts that are made up: what they answer is all that counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from signalbox.connections import primary_selection
from signalbox.connections.primary_selection import DEFAULTS, StalePrimary, hosts_of
from signalbox.connections.unavailable import unavailable_of

CLUSTER = 7


@dataclass(eq=False)
class Host:
    """Part of a connection that choosing a host needs. `timeline` None: no answer."""

    timeline: int | None
    closed: bool = False
    autocommit: bool = True

    def execute(self, _: str) -> Host:
        return self

    def fetchone(self) -> tuple[int, int | None]:
        return (CLUSTER, self.timeline)

    def close(self) -> None:
        self.closed = True


@dataclass
class Network:
    timelines: dict[str, int | None]
    opened: list[Host] = field(default_factory=list)

    @property
    def places(self) -> list[Mapping[str, Any]]:
        return [{"host": name} for name in self.timelines]

    def connect(self, place: Mapping[str, Any]) -> Any:
        timeline = self.timelines[place["host"]]
        if timeline is None:
            raise psycopg.OperationalError("connection refused")
        self.opened.append(Host(timeline))
        return self.opened[-1]

    def choose(self) -> int | None:
        """The timeline of the host that was chosen; every other connection is closed again."""
        chosen: Any = primary_selection.choose(self.places, self.connect)
        assert [host for host in self.opened if not host.closed] == [chosen]
        chosen.closed = True
        return chosen.timeline  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primary_selection, "_highest", {})
    monkeypatch.setattr(primary_selection, "_compared", set())


def test_each_host_has_its_port_and_one_port_is_for_all() -> None:
    assert [(place["host"], place["port"]) for place in hosts_of("host=a,b port=1,2", {})] == [("a", "1"), ("b", "2")]
    assert [(place["host"], place["port"]) for place in hosts_of("host=a,b port=1", {})] == [("a", "1"), ("b", "1")]
    assert [place["host"] for place in hosts_of("postgresql:///db?host=/a,/b", {})] == ["/a", "/b"]


def test_a_host_that_takes_writes_is_meant_unless_something_else_is_said() -> None:
    (first, _) = hosts_of("host=a,b", {})
    (patient, _) = hosts_of("host=a,b connect_timeout=60", {})

    assert {name: first[name] for name in DEFAULTS} == DEFAULTS
    assert "connect_timeout" not in patient
    assert hosts_of("host=a,b target_session_attrs=standby", {}) == []
    assert hosts_of("host=a,b target_session_attrs=any", {}) == []


def test_a_primary_that_was_fenced_is_none_that_takes_writes() -> None:
    """The server is still a primary to libpq, and a process that returned to it would never try the other."""
    places = hosts_of("host=a,b target_session_attrs=primary", {})

    assert [place["target_session_attrs"] for place in places] == ["read-write", "read-write"]


def test_of_one_host_there_is_nothing_to_choose() -> None:
    for address in ("", "host=a", "postgresql://a/db", "service=x", "host=a,b port=1,2,3", "no address at all"):
        assert hosts_of(address, {}) == []


def test_options_beside_the_address_count_too() -> None:
    assert [place["host"] for place in hosts_of("dbname=db", {"host": "a,b", "autocommit": True})] == ["a", "b"]


def test_at_first_every_host_is_compared_and_the_highest_epoch_taken() -> None:
    network = Network({"a": 1, "b": 3, "c": 2})

    assert network.choose() == 3
    assert len(network.opened) == 3


def test_later_the_first_that_was_not_replaced_is_taken() -> None:
    network = Network({"a": 2, "b": 2})
    network.choose()
    looked_at = len(network.opened)

    assert network.choose() == 2
    assert len(network.opened) == looked_at + 1


def test_a_replaced_primary_is_skipped_or_refused_without_another() -> None:
    network = Network({"a": None, "b": 2})
    assert network.choose() == 2

    network.timelines["a"] = 1
    assert network.choose() == 2
    network.timelines["b"] = None
    with pytest.raises(psycopg.OperationalError, match="refused"):
        network.choose()
    network.timelines = {"b": None, "a": 1}
    with pytest.raises(StalePrimary, match="epoch 1 and was replaced by a server with epoch 2"):
        network.choose()


def test_a_connection_to_a_replaced_primary_is_closed() -> None:
    network = Network({"a": 1, "b": None})
    network.choose()
    (old,) = network.opened
    assert not primary_selection.is_replaced(old)

    network.timelines = {"a": None, "b": 2}
    network.choose()
    assert primary_selection.is_replaced(old)
    assert not primary_selection.is_replaced(network.opened[-1])


def test_another_cluster_has_epochs_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Network({"a": 5, "b": None}).choose() == 5

    monkeypatch.setattr(Host, "fetchone", lambda host: (CLUSTER + 1, host.timeline))
    assert Network({"x": 1, "y": None}).choose() == 1


def test_a_standby_that_nothing_is_above_of_will_do() -> None:
    """A request for a writable server was refused by it before."""
    assert Network({"a": 0, "b": None}).choose() == 0


def test_that_all_were_replaced_says_that_nothing_was_done() -> None:
    network = Network({"a": 1, "b": 2})
    network.choose()
    network.timelines["b"] = None
    with pytest.raises(StalePrimary) as refused:
        primary_selection.choose(list(reversed(network.places)), network.connect)

    unavailable = unavailable_of(refused.value)
    assert unavailable is not None
    assert (unavailable.cause, unavailable.nothing_done) == ("no-connection", True)


def test_nothing_that_answers_raises_what_the_last_one_said() -> None:
    with pytest.raises(psycopg.OperationalError, match="connection refused"):
        Network({"a": None, "b": None}).choose()
