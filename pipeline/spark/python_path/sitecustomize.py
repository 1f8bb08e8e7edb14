"""Shorten the start of each Python process that Spark starts on this machine.

Spark puts its own files first on the module path: zip files with PySpark's source, which each process would compile
again, and a jar with thousands of names, which each import would search. The installed PySpark is compiled already.

Arrow imports NumPy and pandas when they are installed, which takes half a second. The pipeline does not need them.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

HOME = Path(os.environ.get("SPARK_HOME", "/nowhere"))
OWN = (HOME / "python" / "lib", HOME / "jars")


class Without:
    """A module finder that reports these modules as not installed."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname in self.names:
            raise ModuleNotFoundError(f"the pipeline runs without {fullname}", name=fullname)


sys.path[:] = [path for path in sys.path if not any(own in Path(path).parents for own in OWN)]
sys.meta_path.insert(0, Without("numpy", "pandas"))
