"""The package as applications install it: built once, into an environment with what it declares and no Django."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tools.wheel_rooms import LEFT_OUT, ROOMS, files

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECLARED_VERSION = PROJECT["version"]
DECLARED = ("psycopg", "psycopg_binary", "psycopg_pool", "typing_extensions")
FOR_HTTP = ("httpx", "httpcore", "h11", "anyio", "idna", "certifi")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built of a copy, so that the checkout stays clean, with the build tools that are installed."""
    folder = tmp_path_factory.mktemp("package")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "signalbox", folder / "signalbox", ignore=shutil.ignore_patterns("__pycache__"))
    for source in (*files(ROOT), Path("tools", "wheel_rooms.py")):
        (folder / source).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, folder / source)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", folder / "dist", folder], check=True, capture_output=True, text=True)
    (built,) = (folder / "dist").glob("signalbox_queue-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """The folder of a fresh environment with the wheel and what it declares."""
    folder = tmp_path_factory.mktemp("environment") / "fresh"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    install = [sys.executable, "-m", "pip", "--python", folder, "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(install, check=True, capture_output=True, text=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in (*DECLARED, *FOR_HTTP):
        _lend(name, packages)
    return folder


def _lend(name, packages):
    """A package of ours, seen there too; compiled ones have a folder of libraries beside them."""
    origin = Path(importlib.import_module(name).__file__)
    home = origin.parent if origin.name == "__init__.py" else origin
    for each in (home, home.with_name(f"{home.name}.libs")):
        if each.exists():
            (packages / each.name).symlink_to(each)


@pytest.fixture
def run(environment, tmp_path):
    """Run a program of that environment, with nothing of this one."""

    def run(program, *arguments, **variables):
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
        ran = subprocess.run(
            [environment / "bin" / program, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**kept, **variables},
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run


def test_the_wheel_has_the_client_and_the_rooms_in_one_folder(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    rooms = {name.removeprefix("signalbox/rooms/") for name in packed if name.startswith("signalbox/rooms/")}
    listed = subprocess.run(["git", "ls-files", "-z", *ROOMS], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = {name for name in listed.stdout.split("\0") if name and not LEFT_OUT & set(Path(name).parts[:-1])}
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "signalbox").rglob("*.py")}

    assert packed - {f"signalbox/rooms/{name}" for name in rooms} == sources | {"signalbox/py.typed"}
    assert rooms >= tracked | {"manage.py"}
    assert {name for name in rooms if name.endswith(".pyc")} == set()


def test_the_servers_commands_say_what_to_install(environment, tmp_path):
    ran = subprocess.run([environment / "bin" / "signalbox", "doctor"], capture_output=True, text=True, cwd=tmp_path)

    assert (ran.returncode, ran.stdout) == (1, "")
    assert "needs the server" in ran.stderr
    assert "extra 'server'" in ran.stderr


def test_everything_imports_without_django(run):
    program = (
        "import sys, pkgutil, importlib, signalbox, signalbox.http, signalbox.cli, signalbox.worker\n"
        "from signalbox import Client, AsyncClient, connect\n"
        "assert 'site-packages' in signalbox.__file__, signalbox.__file__\n"
        "print(signalbox.__version__, 'django' in sys.modules)"
    )
    assert run("python", "-c", program).split()[1] == "False"


def test_importing_the_client_imports_neither_httpx_nor_the_worker(run):
    program = "import sys, signalbox; print('httpx' in sys.modules, 'signalbox.worker' in sys.modules)"
    assert run("python", "-c", program).split() == ["False", "False"]


def test_the_console_script_speaks_to_a_database_and_to_a_server(run, queue, dsn, api_address):
    url, key = api_address
    assert run("signalbox", "--version").strip() == DECLARED_VERSION
    sent = json.loads(run("signalbox", "send", queue, '"parcel"', "--json", DATABASE_URL=dsn))
    variables = {"SIGNALBOX_URL": url, "SIGNALBOX_API_KEY": key}
    received = json.loads(run("signalbox", "receive", queue, "--json", "--ack", **variables))
    assert (received["id"], received["payload"]) == (sent["message_id"], "parcel")
