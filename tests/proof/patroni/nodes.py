"""A node of Patroni and a member of etcd, from Debian, with the settings of docs/run/deploy/patroni."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from queues.database.embedded.account import ENVIRONMENT, Account
from queues.database.embedded.folders import claim_folder
from tests.chaos.server import PROJECT
from tests.ports import free_port

DEPLOY = PROJECT / "docs" / "run" / "deploy" / "patroni"
LOOPBACK = "127.0.0.1"
PASSWORD = "of-a-test"
#: Settings of the deployed file that a test on one machine cannot wait for.
SOONER = {"ttl: 30": "ttl: 8", "loop_wait: 10": "loop_wait: 1", "retry_timeout: 10": "retry_timeout: 3"}
ANSWER_SECONDS = 5


class Program:
    """A program that an unprivileged account runs, which can be killed, frozen and started again."""

    def __init__(self, folder: Path, account: Account, command: list[str], environment: Mapping[str, str]) -> None:
        self.folder, self.account, self.command = folder, account, command
        self.environment = ENVIRONMENT | dict(environment)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        other = self.account.uid != os.geteuid()
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=self.account.uid if other else None,
                group=self.account.gid if other else None,
                extra_groups=[] if other else None,
            )

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class Member(Program):
    """One member of etcd."""

    def __init__(self, folder: Path, account: Account, name: str, ports: Mapping[str, int]) -> None:
        claim_folder(folder, account.uid, account.gid)
        environment = settings("etcd", name, ports) | {"ETCD_DATA_DIR": str(folder / "data")}
        super().__init__(folder, account, [installed("etcd")], environment)
        self.url = environment["ETCD_ADVERTISE_CLIENT_URLS"]

    def is_ready(self) -> bool:
        """Return whether the members have agreed on a version, without which Patroni does not start."""
        return ask(f"{self.url}/version").get("etcdcluster", "not_decided") != "not_decided"


class Node:
    """Patroni with its PostgreSQL. It reaches etcd through a gateway, which a test can close."""

    def __init__(self, folder: Path, account: Account, name: str, ports: Mapping[str, int]) -> None:
        claim_folder(folder, account.uid, account.gid)
        self.name, self.folder, self.port = name, folder, ports[f"{name}.internal:5432"]
        self.api = f"http://{LOOPBACK}:{ports[f'{name}.internal:8008']}"
        gateway = f"{LOOPBACK}:{free_port()}"
        members = ",".join(f"{LOOPBACK}:{port}" for host, port in ports.items() if host.endswith(":2379"))
        command = [installed("etcd"), "gateway", "start", "--retry-delay=1s"]
        command += [f"--endpoints={members}", f"--listen-addr={gateway}"]
        self.way_to_etcd = Program(folder, account, command, {})
        (folder / "config.yml").write_text(self._config())
        environment = settings("patroni_env.conf", name, ports) | {
            "PATRONI_ETCD3_HOSTS": gateway,
            "PATRONI_ETCD3_USE_PROXIES": "true",
            "PATRONI_SUPERUSER_PASSWORD": PASSWORD,
            "PATRONI_REPLICATION_PASSWORD": PASSWORD,
        }
        self.patroni = Program(folder, account, [installed("patroni"), str(folder / "config.yml")], environment)

    def start(self) -> None:
        self.way_to_etcd.start()
        self.patroni.start()

    def kill(self) -> None:
        """Kill Patroni and every process of its PostgreSQL."""
        self.patroni.kill()
        with suppress(FileNotFoundError, ProcessLookupError):
            postmaster = int((self.folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
            for pid in (postmaster, *map(int, children)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def ask(self, path: str, said: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask Patroni; empty without an answer."""
        return ask(self.api + path, said)

    def _config(self) -> str:
        """The deployed file, with the folders of the test and less patience."""
        text = (DEPLOY / "config.yml").read_text()
        folders = {
            "data_dir: /var/lib/postgresql/15/signalbox": f"data_dir: {self.folder / 'data'}",
            "unix_socket_directories: /var/run/postgresql": f"unix_socket_directories: {self.folder}",
        }
        for deployed, here in (SOONER | folders).items():
            assert text.count(f" {deployed}\n") == 1, deployed
            text = text.replace(f" {deployed}\n", f" {here}\n")
        return text


def ask(address: str, said: dict[str, Any] | None = None) -> dict[str, Any]:
    body = None if said is None else json.dumps(said).encode()
    with suppress(OSError, ValueError), urlopen(Request(address, body), timeout=ANSWER_SECONDS) as answer:
        text = answer.read().decode()
        return json.loads(text) if text.startswith("{") else {"said": text}
    return {}


def settings(file: str, name: str, ports: Mapping[str, int]) -> dict[str, str]:
    """The deployed variables of a node, with the addresses of this machine."""
    text = (DEPLOY / file).read_text()
    lines = [line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#")]
    return {variable: _here(variable, value, name, ports) for variable, value in lines}


def _here(variable: str, value: str, name: str, ports: Mapping[str, int]) -> str:
    if variable in ("PATRONI_NAME", "ETCD_NAME"):
        return name
    value = value.replace("10.0.0.1:", "db1.internal:")
    if variable not in ("PATRONI_ETCD3_HOSTS", "ETCD_INITIAL_CLUSTER"):
        value = value.replace("db1.internal", f"{name}.internal")
    for host, port in ports.items():
        value = value.replace(host, f"{LOOPBACK}:{port}")
    return value


def installed(program: str) -> str:
    found = shutil.which(program, path=os.defpath)
    assert found is not None, f"{program} is not installed: tests/system_packages.sh says how"
    return found
