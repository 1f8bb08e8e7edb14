"""Write every generated page: `python -m docs.build [--check]`.

With `--check` no page is written; the names of outdated pages are printed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from docs.build.pages import ROOT, outdated, write


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or name the outdated ones."""
    if "--check" not in arguments:
        write()
        return 0
    changed = outdated()
    for path in changed:
        print(f"{path.relative_to(ROOT)} is not what the code gives: run `make docs`", file=sys.stderr)
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
