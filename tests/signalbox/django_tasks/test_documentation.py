"""Examples in docs/use/django-tasks.md run as shown."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[3] / "docs" / "use" / "django-tasks.md"


@pytest.fixture
def examples(tmp_path, monkeypatch):
    """The settings, the module of tasks, which can be imported, and the code that enqueues one."""
    settings_example, module, enqueueing = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "tasks.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    _forget()  # other tests may have had a shop of their own
    yield settings_example, enqueueing
    _forget()


def _forget() -> None:
    for name in ("shop.tasks", "shop"):
        sys.modules.pop(name, None)


def test_the_examples_run(settings, client, examples, work):
    settings_example, enqueueing = examples
    given = {}
    exec(compile(settings_example, "docs/use/django-tasks.md", "exec"), given)
    settings.TASKS = given["TASKS"]
    client.create_queue("mail")
    exec(compile(enqueueing, "docs/use/django-tasks.md", "exec"), given)
    work("mail")
    given["result"].refresh()

    assert given["result"].return_value == {"sent_to": "customer of order 7"}
