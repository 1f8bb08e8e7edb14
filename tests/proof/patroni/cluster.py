"""Three nodes of Patroni and three members of etcd on this machine, with a database of Signalbox."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psycopg

from queues.database.embedded.account import server_account
from tests.chaos.server import PATIENCE_SECONDS, PROJECT
from tests.ports import free_port
from tests.proof.patroni.nodes import LOOPBACK, PASSWORD, Member, Node

NAMES = ("db1", "db2", "db3")
RUNNING = ("running", "streaming")
PORTS = (5432, 8008, 2379, 2380)
DATABASE = ROLE = "signalbox"
#: What docs/run/patroni.md tells an operator to do once.
SETUP = (
    f"create role {ROLE} login password '{PASSWORD}'",
    f"grant pg_signal_backend to {ROLE}",
    f"create database {DATABASE} owner {ROLE}",
)


class PatroniNodes:
    """Running nodes within a `with` block, with the interface of a chaos run's server."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="signalbox-patroni-"))
        self.home.chmod(0o711)
        account = server_account(self.home / "none")
        ports = {f"{name}.internal:{port}": free_port() for name, port in itertools.product(NAMES, PORTS)}
        self.members = [Member(self.home / f"etcd-{name}", account, name, ports) for name in NAMES]
        self.nodes = {name: Node(self.home / name, account, name, ports) for name in NAMES}

    def __enter__(self) -> Self:
        try:
            for member in self.members:
                member.start()
            self.wait_until(lambda: all(member.is_ready() for member in self.members), "etcd has started")
            for node in self.nodes.values():
                node.start()
            self.settled()
            with self._connect_as("postgres", "postgres") as connection:
                for statement in SETUP:
                    connection.execute(statement.encode())
            subprocess.run(self.manage("migrate", "-v0"), env=self.environment(), check=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes.values():
            node.kill()
            node.way_to_etcd.kill()
        for member in self.members:
            member.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def url(self) -> str:
        return self._url(ROLE, DATABASE)

    def manage(self, *arguments: str) -> list[str]:
        return [sys.executable, str(PROJECT / "manage.py"), *arguments]

    def environment(self, **more: str) -> dict[str, str]:
        paths = {"SIGNALBOX_HOME": str(self.home), "PYTHONPATH": str(PROJECT), "DATABASE_URL": self.url}
        return {**os.environ, **paths, "HTTPS_ONLY": "false", **more}

    def connect_patiently(self) -> psycopg.Connection[Any]:
        """Connect to the server that accepts writes."""
        return self._connect_as(ROLE, DATABASE)

    def settled(self, without: Node | None = None) -> Node:
        """Wait until every node but this one follows one leader, one of them as its synchronous standby."""
        wanted = [name for name in NAMES if without is None or name != without.name]
        self.wait_until(lambda: self._leader(wanted) is not None, f"{wanted} follow one leader")
        leader = self._leader(wanted)
        assert leader is not None
        return leader

    def switch_over(self, leader: Node) -> None:
        (standby,) = [one["name"] for one in leader.ask("/cluster")["members"] if one["role"] == "sync_standby"]
        said = leader.ask("/switchover", {"leader": leader.name, "candidate": standby})
        assert "Successfully switched over" in said.get("said", ""), said

    def _leader(self, wanted: list[str]) -> Node | None:
        """The leader on which these nodes agree: one that was away tells of the past at first."""
        views = [self.nodes[name].ask("/cluster").get("members", ()) for name in wanted]
        roles = [{one["name"]: one["role"] for one in view if one["state"] in RUNNING} for view in views]
        timelines = {one.get("timeline") for view in views for one in view if one["name"] in wanted}
        roles = [{name: role for name, role in seen.items() if name in wanted} for seen in roles]
        expected = sorted(["leader", "sync_standby", "replica"][: len(wanted)])
        if len(timelines) > 1 or any(seen != roles[0] or sorted(seen.values()) != expected for seen in roles):
            return None
        return next(self.nodes[name] for name, role in roles[0].items() if role == "leader")

    def _url(self, role: str, database: str) -> str:
        hosts = ",".join(LOOPBACK for _ in NAMES)
        ports = ",".join(str(node.port) for node in self.nodes.values())
        return f"postgresql://{role}:{PASSWORD}@/{database}?host={hosts}&port={ports}"

    def _connect_as(self, role: str, database: str) -> psycopg.Connection[Any]:
        found: list[psycopg.Connection[Any]] = []

        def connected() -> bool:
            with suppress(psycopg.OperationalError):
                url = self._url(role, database)
                found.append(psycopg.connect(url, autocommit=True, target_session_attrs="read-write"))
            return bool(found)

        self.wait_until(connected, "one of the nodes takes writes")
        return found[0]

    @staticmethod
    def wait_until(condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, what
            time.sleep(0.1)
