"""Choose, once, for which instruction level the kernels are loaded.

A wheel holds the same kernels built for baseline x86-64 and for x86-64-v3 and -v4. The best one
the CPU runs is used; ``MANIFOLD_LAB_CPU`` = baseline, v3 or v4 forces one.
"""

import functools
import importlib
import importlib.util
import os

from manifold_lab._kernels import cpu
from manifold_lab.errors import ParameterError

_NEEDS = {"baseline": 1, "v3": 3, "v4": 4}


def runnable():
    """Return the levels this CPU can run, lowest first."""
    have = cpu.level()
    return [name for name, needs in _NEEDS.items() if needs <= have]


@functools.cache
def level():
    """Return the level in use: "baseline", "v3" or "v4".

    Raises
    ------
    ParameterError
        ``MANIFOLD_LAB_CPU`` names a level that does not exist or that this CPU cannot run.
    """
    wanted = os.environ.get("MANIFOLD_LAB_CPU", "").strip().lower()
    if wanted in ("", "auto"):
        return runnable()[-1]
    if wanted not in runnable():
        raise ParameterError(
            f"MANIFOLD_LAB_CPU={wanted} cannot be used: this CPU runs {', '.join(runnable())}. "
            "Set it to one of these, or unset it."
        )
    return wanted


@functools.cache
def load(kernel):
    """Return the module of ``kernel`` built for the level in use, or its plain build."""
    name = f"manifold_lab._kernels.{level()}.{kernel}"
    if level() != "baseline" and importlib.util.find_spec(name) is not None:
        return importlib.import_module(name)
    return importlib.import_module(f"manifold_lab._kernels.{kernel}")
