"""Run by each Python that Spark starts on this machine, before anything else.

Spark puts its own zip files first, where PySpark lies as source: every process would compile it anew, in a second or
two. The installed one, which is the same, has been compiled.
"""

import os
import sys
from pathlib import Path

LIBRARY = Path(os.environ.get("SPARK_HOME", "/nowhere")) / "python" / "lib"

sys.path[:] = [path for path in sys.path if LIBRARY not in Path(path).parents]
