"""Prometheus and Alertmanager beside the demo, if they are installed, so that alerts arrive as in production.

The configuration is that of docs/operate/alerts-prometheus.md with shorter times: an alert is seen within minutes.
JSON is YAML, so no further library writes it.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from console.server.parts import HOST
from console.server.supervisor import Part

# Added to the console's port: port 8000 gives the usual ports 9090 and 9093.
PROMETHEUS_ABOVE, ALERTMANAGER_ABOVE = 1090, 1093
RULES = settings.BASE_DIR / "dashboards" / "alerts"
HOW_TO_GET = """Prometheus and Alertmanager are not both installed, so the demo runs without them.
  Debian, Ubuntu   apt install prometheus prometheus-alertmanager
  elsewhere        https://prometheus.io/download, with prometheus and alertmanager on PATH
The console itself evaluates its own alert rules."""


@dataclass(frozen=True)
class Monitoring:
    """The paths of both programs, and the ports on which they listen."""

    prometheus: str
    alertmanager: str
    console_port: int

    @property
    def prometheus_port(self) -> int:
        return self.console_port + PROMETHEUS_ABOVE

    @property
    def alertmanager_port(self) -> int:
        return self.console_port + ALERTMANAGER_ABOVE

    def parts(self, home: Path, token: str) -> list[Part]:
        """Return the processes of both programs. Their configuration and data are in `home`, private to this user."""
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        alertmanager = _configured(home / "alertmanager.yml", self.alertmanager_config(token), self.alertmanager_port)
        prometheus = _configured(home / "prometheus.yml", self.prometheus_config(), self.prometheus_port)
        alone = "--cluster.listen-address="
        return [
            Part("alertmanager", [self.alertmanager, *alertmanager, f"--storage.path={home / 'alertmanager'}", alone]),
            Part("prometheus", [self.prometheus, *prometheus, f"--storage.tsdb.path={home / 'prometheus'}"]),
        ]

    def prometheus_config(self) -> dict[str, Any]:
        console = {"targets": [f"{HOST}:{self.console_port}"]}
        pages = [{"labels": {"__metrics_path__": f"/metrics/{page}", "page": page}} for page in ("queues", "settings")]
        token = {"authorization": {"credentials": settings.METRICS_TOKEN}} if settings.METRICS_TOKEN else {}
        return {
            "global": {
                "scrape_interval": "5s",
                "evaluation_interval": "5s",
                "external_labels": {"console_url": f"http://{HOST}:{self.console_port}"},
            },
            "rule_files": [str(RULES / "*.rules.yaml")],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"{HOST}:{self.alertmanager_port}"]}]}]},
            "scrape_configs": [
                {"job_name": "signalbox", "static_configs": [console, *(console | page for page in pages)], **token}
            ],
        }

    def alertmanager_config(self, token: str) -> dict[str, Any]:
        hook = {
            "url": f"http://{HOST}:{self.console_port}/alerts/webhook",
            "send_resolved": True,
            "max_alerts": 5000,
            "http_config": {"authorization": {"credentials": token}},
        }
        return {
            "route": {
                "receiver": "signalbox",
                "group_by": ["alertname", "tenant", "queue"],
                "group_wait": "5s",
                "group_interval": "10s",
                "repeat_interval": "1h",
                "routes": [
                    {
                        "matchers": ["alertname = SignalboxWatchdog"],
                        "receiver": "signalbox",
                        "group_interval": "1m",
                        "repeat_interval": "50s",
                    }
                ],
            },
            "receivers": [{"name": "signalbox", "webhook_configs": [hook]}],
        }


def find(console_port: int) -> Monitoring | None:
    """Find both programs; None when one is missing. Debian calls Alertmanager prometheus-alertmanager."""
    prometheus = shutil.which("prometheus")
    alertmanager = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    return Monitoring(prometheus, alertmanager, console_port) if prometheus and alertmanager else None


def _configured(path: Path, configuration: dict[str, Any], port: int) -> list[str]:
    """Write the configuration, and return the arguments that both programs take."""
    path.touch(mode=0o600)
    path.write_text(json.dumps(configuration, indent=2) + "\n")
    return [f"--config.file={path}", f"--web.listen-address={HOST}:{port}"]
