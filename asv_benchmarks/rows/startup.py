"""The import, timed as a user meets it: a whole process, from its start to its end."""

import functools
import subprocess
import sys

from asv_benchmarks.rows import Peer, Row


def _import(module, data):
    return subprocess.run([sys.executable, "-c", f"import {module}"], check=False).returncode


def agree(data, code, exact):
    """Say so if the process failed."""
    return f"the import ended with code {code}" if code else ""


ROWS = (
    Row(
        name="import",
        goal=8,
        setup=lambda quick: None,
        ours=functools.partial(_import, "manifold_lab"),
        peers={"scikit-learn": Peer(functools.partial(_import, "sklearn.manifold"))},
        agree=agree,
    ),
)
