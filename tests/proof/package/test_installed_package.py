"""The wheel in an empty environment, with its declared packages and no checkout: from migrate to doctor."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.ports import free_port
from tools.wheel_rooms import files

pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[3]
VERSIONS = ("3.11", "3.12", "3.13")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy, as an isolated build of a release does."""
    folder = tmp_path_factory.mktemp("wheel")
    for source in (*map(Path, ("pyproject.toml", "README.md", "LICENSE", "tools/wheel_rooms.py")), *files(ROOT)):
        (folder / source).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, folder / source)
    shutil.copytree(ROOT / "signalbox", folder / "signalbox", ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", folder / "dist", folder], check=True, capture_output=True, text=True)
    (built,) = (folder / "dist").glob("signalbox_queue-*.whl")
    return built


def interpreter(version: str) -> str | None:
    """Find an interpreter of this version: on the path, or among those of pyenv."""
    pyenv = Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
    for candidate in (f"python{version}", *map(str, pyenv)):
        found = shutil.which(candidate)
        if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
            return found
    return None


@pytest.fixture(scope="module", params=VERSIONS)
def installed(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel with the extra `server` into an empty environment, at the versions of the lock."""
    python = interpreter(request.param)
    if python is None:
        pytest.skip(f"there is no Python {request.param} here")
    folder = tmp_path_factory.mktemp("environment") / request.param
    subprocess.run([python, "-m", "venv", folder], check=True, capture_output=True)
    pinned = re.findall(r"^([\w.-]+==\S+)", (ROOT / "requirements.lock").read_text(), re.M)
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(pinned))
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile", "--constraint", constraints]
    done = subprocess.run([*pip, f"{wheel}[server]"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    subprocess.run([folder / "bin" / "python", "-m", "pip", "check"], check=True, capture_output=True)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def surroundings(home: Path, **more: str) -> Mapping[str, str]:
    """The variables of a person who has nothing of ours but the package."""
    home.mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), **more}


@pytest.fixture
def run(installed: Path, home: Path) -> Run:
    """Run `signalbox` in a folder without files, with a home of its own."""

    def run(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        command = [installed / "bin" / "signalbox", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=home, env=surroundings(home))
        assert done.returncode == status, done.stdout + done.stderr
        return done

    home.mkdir()
    return run


def findings(run: Run, *words: str, status: int = 0) -> dict[str, str]:
    """The level of each subject, as the doctor sees it."""
    report = json.loads(run("doctor", *words, "--json", status=status).stdout)
    assert report["ok"] == (status == 0)
    return {finding["subject"]: finding["level"] for finding in report["findings"]}


def test_a_queue_from_nothing_but_the_package(installed: Path, run: Run, home: Path) -> None:
    assert findings(run, status=1)["schema"] == "error"
    run("migrate")
    url = run("manage", "postgres", "url").stdout.strip()
    upkeep = subprocess.Popen(
        [installed / "bin" / "signalbox", "upkeep"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=home,
        env=surroundings(home),
    )
    try:
        assert upkeep.stdout is not None
        assert "Upkeep is running" in upkeep.stdout.readline()
        run("create", "parcels", "--url", url)
        sent = json.loads(run("send", "parcels", '{"to": 7}', "--url", url, "--json").stdout)
        received = json.loads(run("receive", "parcels", "--url", url, "--json").stdout)
        assert (received["id"], received["payload"]) == (sent["message_id"], {"to": 7})
        run("ack", received["receipt_handle"], "--url", url)
        assert set(findings(run).values()) == {"ok"}
    finally:
        upkeep.terminate()
        upkeep.wait()


@pytest.fixture
def server(installed: Path, home: Path) -> Iterator[tuple[str, str]]:
    """The address of a running server, and all that it printed when it was up."""
    port = free_port()
    command = [installed / "bin" / "signalbox", "server"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=surroundings(home, PORT=str(port)), cwd=home
    )
    assert process.stdout is not None
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if "Ctrl-C stops everything" in line:
                break
        yield f"http://127.0.0.1:{port}", "".join(said)
    finally:
        process.terminate()
        process.wait()


def test_a_server_answers_with_pages_an_api_and_files(server: tuple[str, str]) -> None:
    address, said = server

    assert "log in as    admin" in said
    assert "processes    console, upkeep, jobs, alerts" in said
    page = urllib.request.urlopen(f"{address}/login").read().decode()
    (style,) = re.findall(r'href="(/static/[^"]+\.css)', page)[:1]
    assert urllib.request.urlopen(address + style).status == 200
    assert json.loads(urllib.request.urlopen(f"{address}/healthz").read())["checks"]["upkeep"]["ok"]
    assert json.loads(urllib.request.urlopen(f"{address}/v1/openapi.json").read())["openapi"].startswith("3.1")
