import ast
import os
import subprocess
import sys
from pathlib import Path

from django.core.management import get_commands, load_command_class

from queues.database.checks import SETTINGS
from tests.house.engine_sql import engine_sql_modules_listed, modules_with_engine_sql
from tests.house.imports import cycles, imports

# Cycles that are still to be cut; the list only shrinks.
KNOWN_CYCLES: tuple[set[str], ...] = ()
PROJECT = Path(__file__).resolve().parents[1]
ROOMS = ("console", "dlq", "metrics", "pipeline", "queues", "signalbox", "dashboards")
MAX_MODULES = 15
TOOLS = Path(sys.executable).parent


def test_imports_run_downward_only() -> None:
    result = subprocess.run([TOOLS / "lint-imports", "--no-cache"], cwd=PROJECT, capture_output=True, text=True)

    assert result.returncode == 0, result.stdout + result.stderr


def test_no_file_imports_itself_by_way_of_others() -> None:
    """An import inside of a function counts, since it only hides the cycle."""
    found = cycles(imports())

    assert [cycle for cycle in found if not any(set(cycle) <= known for known in KNOWN_CYCLES)] == []


def test_no_folder_of_the_product_has_more_modules_than_a_reader_takes_in() -> None:
    """Migrations are read one by one, in the order of their numbers."""
    folders = {path.parent for room in ROOMS for path in (PROJECT / room).rglob("*.py")}
    sizes = {str(one.relative_to(PROJECT)): len(list(one.glob("*.py"))) for one in folders if one.name != "migrations"}

    assert {folder: size for folder, size in sizes.items() if size > MAX_MODULES} == {}


def test_a_cycle_is_found_and_named_once() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": {"d"}, "f": {"a"}}

    assert sorted(sorted(cycle) for cycle in cycles(graph)) == [["a", "b", "c"], ["d", "e"]]


def test_only_the_console_knows_the_web(tmp_path: Path) -> None:
    """Run on a file that breaks the rule as well, to see that the rule bites."""
    banned = "--select=TID251"
    offender = PROJECT / "queues/offender.py"

    rooms = ["queues", "dlq", "metrics", "pipeline", "signalbox"]
    clean = subprocess.run([TOOLS / "ruff", "check", banned, *rooms], cwd=PROJECT, capture_output=True, text=True)
    bitten = subprocess.run(
        [TOOLS / "ruff", "check", banned, f"--stdin-filename={offender}", "-"],
        cwd=PROJECT,
        input="from django.http import HttpResponse\nimport console.settings\n",
        capture_output=True,
        text=True,
    )

    assert clean.returncode == 0, clean.stdout
    assert bitten.stdout.count("TID251") == 2


def test_the_client_needs_neither_django_nor_the_apps() -> None:
    loading = (
        "import sys, pkgutil, importlib, signalbox\nprint(*sorted({name.split('.')[0] for name in sys.modules}))\n"
    )

    result = subprocess.run([sys.executable, "-c", loading], cwd=PROJECT, capture_output=True, text=True, check=True)

    assert not {"django", "celery", "console", "pipeline", "metrics", "dlq", "queues", "pyspark"} & set(
        result.stdout.split()
    )


def test_spark_is_asked_only_for_what_connect_has() -> None:
    """Exceptions: the end of a session of the tests, after which the next one starts another Java."""
    lacking = {"rdd", "sparkContext", "_sc", "_jvm", "_jsc", "_jdf"}
    sources = [*(PROJECT / "pipeline").rglob("*.py"), *(PROJECT / "signalbox/spark").rglob("*.py")]

    asked = {
        (str(source.relative_to(PROJECT)), node.attr)
        for source in sources
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in lacking
    }

    assert len(sources) > 50
    assert asked == {("pipeline/spark/sessions.py", "_jvm")}


def test_no_command_of_ours_asks_for_the_whole_console() -> None:
    rooms = ("console", "dlq", "metrics", "pipeline", "queues")
    ours = [(name, app) for name, app in get_commands().items() if app in rooms]

    checked = {name: load_command_class(app, name).requires_system_checks for name, app in ours}

    assert checked["queues"] == checked["pipeline"] == (SETTINGS,)
    assert [name for name, asked in checked.items() if asked == "__all__"] == ["migrate"]


def test_the_console_and_its_workers_load_nothing_that_reads_an_archive() -> None:
    """Arrow alone is a sixth of the time that a process takes to begin, and some 50 MB that it would hold."""
    loading = (
        "import sys, django\ndjango.setup()\nimport console.asgi, console.urls\nfrom console.celery import app\n"
        "app.loader.import_default_modules()\nprint(*sys.modules)"
    )
    settings = os.environ | {"DJANGO_SETTINGS_MODULE": "console.settings"}

    result = subprocess.run(
        [sys.executable, "-c", loading], cwd=PROJECT, env=settings, capture_output=True, text=True, check=True
    )

    assert {"pipeline.tasks", "console.pipeline.replay_views"} <= set(result.stdout.split())
    assert not {"numpy", "pyarrow", "pyspark", "adbc_driver_postgresql"} & set(result.stdout.split())


def test_sql_over_engine_tables_moves_into_the_engines_room() -> None:
    found, listed = set(modules_with_engine_sql()), set(engine_sql_modules_listed())

    assert not found - listed, "ask a query function of queues/ instead of writing SQL over engine tables"
    assert not listed - found, "run `python -m tests.house.engine_sql --write`: the list only shrinks"
