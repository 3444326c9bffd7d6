"""Put chosen plugins of this folder on the path, as if pip had installed them.

Each folder holds a real ``*.dist-info`` beside a module, so that what is tested is the metadata
machinery of Python itself and not a stand-in for it.
"""

import contextlib
import sys
from pathlib import Path

from manifold_lab import registry

HERE = Path(__file__).parent


def paths(*names):
    """Return the folders of the plugins called ``names``, as strings for ``sys.path``."""
    folders = [HERE / name for name in names]
    for folder in folders:
        assert any(folder.glob("*.dist-info")), f"{folder} holds no plugin"
    return [str(folder) for folder in folders]


@contextlib.contextmanager
def installed(*names):
    """Make the plugins importable and listed; afterwards it is as if they had never been there."""
    before, runtime = list(sys.path), registry._runtime
    sys.path[:0] = paths(*names)
    registry.refresh()
    try:
        yield
    finally:
        sys.path[:] = before
        registry._runtime = runtime
        for module in [name for name in sys.modules if name.startswith("plugin_")]:
            del sys.modules[module]
        registry.refresh()
