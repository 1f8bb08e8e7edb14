"""One run of the demo in a home of its own, as its tests and the soak see it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.cookiejar import CookieJar
from pathlib import Path

import psutil

from tests.ports import free_port

ROOT = Path(__file__).parents[3]
# Longer than anything here takes on a busy machine, in seconds.
PATIENCE = 240.0


class Demo:
    """One run of the demo in a home of its own."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.home = home
        self.port = free_port()
        self.said: list[str] = []
        self.last_words = ""
        environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "HTTPS_ONLY")}
        environment["SPARK_SERVER_IDLE_SECONDS"] = "3600"  # it is there until the demo stops
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "demo", *arguments],
            cwd=ROOT,
            env=environment | {"SIGNALBOX_HOME": str(home), "PORT": str(self.port), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_until_up(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if "Ctrl-C stops everything" in line:
                return
        raise AssertionError(f"the demo ended with {self.process.wait()}")

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def log_in(self, name: str) -> Callable[[str], str]:
        """A browser without a screen: gets pages as this person."""
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        address = f"http://127.0.0.1:{self.port}"

        def get(path: str, **form: str) -> str:
            body = urllib.parse.urlencode(form).encode() if form else None
            with browser.open(address + path, body, timeout=PATIENCE) as response:
                return str(response.read().decode())

        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', get("/login"))
        assert token is not None
        get("/login", csrfmiddlewaretoken=token[1], username=name, password="signalbox")
        return get

    def running(self, *modules: str) -> list[psutil.Process]:
        """The demo's processes whose command names one of these."""
        found = []
        for part in self.processes():
            with contextlib.suppress(psutil.Error):  # it has just ended
                if any(name in " ".join(part.cmdline()) for name in modules):
                    found.append(part)
        return found

    def interrupt(self) -> int:
        """Press Ctrl-C and wait for the end; `last_words` has what the demo printed from then on."""
        self.process.send_signal(signal.SIGINT)
        self.last_words, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode

    def processes(self) -> list[psutil.Process]:
        """Every process that was given this home, the demo's own and its server's."""
        found = []
        for process in psutil.process_iter():
            try:
                named = [*process.environ().values(), *process.cmdline()]
            except psutil.Error:
                continue  # it has just ended, or is not ours to look at
            if process.pid != os.getpid() and any(str(self.home) in text for text in named):
                found.append(process)
        return found
