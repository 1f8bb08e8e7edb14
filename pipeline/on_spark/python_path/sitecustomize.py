"""Run by each Python that Spark starts on this machine, before anything else.

Spark puts its own files first: zip files with PySpark as source, which every process would compile anew, and a jar,
through whose thousands of names each look for a module would go. The installed PySpark is the same and compiled.

Of pandas and NumPy nothing here has any need. But Arrow loads them, where they are there: NumPy at once and pandas as
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
    """Asked before all who find modules, it says that there are none of these."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname in self.names:
            raise ModuleNotFoundError(f"the pipeline runs without {fullname}", name=fullname)


sys.path[:] = [path for path in sys.path if not any(own in Path(path).parents for own in OWN)]
sys.meta_path.insert(0, Without("numpy", "pandas"))
