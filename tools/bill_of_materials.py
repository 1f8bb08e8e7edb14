"""Write the bill of materials (CycloneDX 1.6) of a release from requirements.lock. Equal locks give equal bytes.

python -m tools.bill_of_materials dist/signalbox-queue.cdx.json
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PINNED = re.compile(r"^([\w.-]+)==(\S+)", re.M)


def document() -> dict[str, Any]:
    """Describe the package and every package that it depends on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    own = _component(project["name"], project["version"]) | {"licenses": [{"license": {"id": project["license"]}}]}
    pinned = PINNED.findall((ROOT / "requirements.lock").read_text())
    others = [_component(name, version) for name, version in sorted(pinned, key=lambda each: each[0].lower())]
    needed = [{"ref": own["bom-ref"], "dependsOn": [one["bom-ref"] for one in others]}]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own | {"type": "application"}},
        "components": others,
        "dependencies": needed,
    }


def _component(name: str, version: str) -> dict[str, Any]:
    address = f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}"
    return {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(document(), indent=2) + "\n")
