"""Memory of the last quarter of an export: export_memory.py FILTER ROWS. Prints rows, bytes and the peak."""

# ruff: noqa: T201 - standard output is how it answers
from __future__ import annotations

import os
import sys
import tracemalloc

os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"

import django

django.setup()

from dlq.export import rows as export_rows  # noqa: E402
from dlq.export.files import Bound, Export, Format  # noqa: E402
from dlq.search.checked_filter import check_filter  # noqa: E402

chosen, rows = check_filter(sys.argv[1]), int(sys.argv[2])
export = Export(export_rows.dead_letters(chosen, see_payloads=True), Format.NDJSON, Bound.of(), "ana")
while export.rows < rows * 3 // 4:
    next(export)
tracemalloc.start()
written = sum(len(chunk) for chunk in export)
print(export.rows, written, tracemalloc.get_traced_memory()[1])
