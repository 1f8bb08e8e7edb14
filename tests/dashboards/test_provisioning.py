"""The example files by which Grafana finds the dashboards and the Prometheus behind them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import yaml

from dashboards import build
from tests.dashboards.built import DASHBOARDS, variables

ROOT = Path(__file__).parents[2]
PROVISIONING = ROOT / "dashboards" / "provisioning"
CHECKOUT = PurePosixPath("/opt/signalbox")
ARRANGED_BY_GRAFANA = {"dashboards": "providers", "datasources": "datasources"}


# What Grafana reads in these files; it would pass over a misspelt key without a word.
KNOWN = {
    "dashboards": {
        *("name", "orgId", "type", "folder", "folderUid", "disableDeletion", "allowUiUpdates"),
        *("updateIntervalSeconds", "options"),
    },
    "datasources": {"name", "uid", "type", "access", "url", "isDefault", "editable", "jsonData", "orgId", "version"},
}


def read(kind: str) -> dict[str, Any]:
    settings = yaml.safe_load((PROVISIONING / kind / "signalbox.yaml").read_text())
    assert settings["apiVersion"] == 1
    assert set(settings) == {"apiVersion", ARRANGED_BY_GRAFANA[kind]}
    (only,) = settings[ARRANGED_BY_GRAFANA[kind]]
    assert set(only) <= KNOWN[kind]
    return only  # type: ignore[no-any-return]


def test_the_folders_are_those_that_grafana_looks_into() -> None:
    assert {path.name for path in PROVISIONING.iterdir()} == ARRANGED_BY_GRAFANA.keys()


def test_the_provider_names_the_folder_of_the_built_dashboards() -> None:
    provider = read("dashboards")

    assert provider["type"] == "file"
    assert set(provider["options"]) == {"path", "foldersFromFilesStructure"}
    folder = PurePosixPath(provider["options"]["path"]).relative_to(CHECKOUT)
    assert ROOT / folder == build.BUILT
    assert {path.name for path in (ROOT / folder).iterdir()} == set(DASHBOARDS)  # Grafana would read any other JSON too


def test_the_data_source_is_one_that_the_dashboards_offer() -> None:
    source = read("datasources")

    assert {variables(dashboard)["datasource"]["query"] for dashboard in DASHBOARDS.values()} == {source["type"]}
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", source["uid"])


def test_the_data_source_knows_how_often_is_scraped() -> None:
    (documented,) = set(re.findall(r"scrape_interval: (\w+)", (ROOT / "docs" / "run" / "monitoring.md").read_text()))

    assert read("datasources")["jsonData"]["timeInterval"] == documented


SAVES = {"dashboard", "folderId", "folderUid", "inputs", "message", "overwrite", "userId"}
"""What the body of Grafana's `POST /api/dashboards/db` may have, by its documentation."""


class Saving(BaseHTTPRequestHandler):
    """Grafana's call that saves a dashboard, as its documentation describes request and answer."""

    asked: ClassVar[list[tuple[str, str | None, dict[str, Any]]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, self.headers["Authorization"], body))
        uid = body["dashboard"]["uid"]
        answer = json.dumps({"id": 1, "uid": uid, "url": f"/d/{uid}", "status": "success", "version": 1}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


def test_the_commands_of_the_page_import_each_dashboard() -> None:
    page = (ROOT / "docs" / "run" / "dashboards.md").read_text()
    (commands,) = re.findall(r"```\n(for file in .*?)```", page, re.DOTALL)
    with ThreadingHTTPServer(("127.0.0.1", 0), Saving) as grafana:
        threading.Thread(target=grafana.serve_forever, daemon=True).start()
        address = {"GRAFANA": f"http://127.0.0.1:{grafana.server_port}", "TOKEN": "glsa_1"}
        subprocess.run(["bash", "-ec", commands], cwd=ROOT, env=os.environ | address, check=True, timeout=60)
        grafana.shutdown()

    assert {(path, token) for path, token, _ in Saving.asked} == {("/api/dashboards/db", "Bearer glsa_1")}
    bodies = [body for _, _, body in Saving.asked]
    assert [body["dashboard"] for body in bodies] == list(DASHBOARDS.values())
    assert all(body["overwrite"] is True and set(body) <= SAVES for body in bodies)
