"""Shorten the start of each Python process that Spark starts on this machine.

Spark puts its own files first on the path: zip files with PySpark as source, which every process would compile again,
and a jar, through whose thousands of names each look for a module would go. The installed PySpark is compiled.

The pipeline needs neither pandas nor NumPy. But Arrow loads them where they are installed: NumPy at once and pandas as
soon as an array is made of a list, together more than half a second of each process.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

HOME = Path(os.environ.get("SPARK_HOME", "/nowhere"))
OWN = (HOME / "python" / "lib", HOME / "jars")


class Without:
    """A finder that is asked before all others, and says that these modules do not exist."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname in self.names:
            raise ModuleNotFoundError(f"the pipeline runs without {fullname}", name=fullname)


sys.path[:] = [path for path in sys.path if not any(own in Path(path).parents for own in OWN)]
sys.meta_path.insert(0, Without("numpy", "pandas"))
