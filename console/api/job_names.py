"""Jobs by their names on the wire, such as redrive_12."""

from __future__ import annotations

import re

from console.api.problems import Problem


def number_of(name: str, prefix: str) -> int:
    """The job's number. Raises the problem `job-not-found` for what names none."""
    if not re.fullmatch(rf"{prefix}[0-9]{{1,18}}", name):
        raise Problem("job-not-found", f"There is no job {name[:80]!r}: names are as in {prefix}12.")
    return int(name.removeprefix(prefix))
