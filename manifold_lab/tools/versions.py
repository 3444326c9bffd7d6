"""What a report of a fault needs to say about the machine and the packages on it."""

import platform
import sys

# Distributions an answer may depend on; none of them is imported to find its version.
_REQUIRED = ("numpy", "scipy")
_OPTIONAL = (
    "matplotlib",
    "plotly",
    "pandas",
    "pyarrow",
    "polars",
    "rich",
    "scikit-learn",
    "cython",
    "setuptools",
    "pip",
)


def versions():
    """Return names and versions, in the order shown, of everything a result may depend on.

    Optional packages appear only where they are installed.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> versions()["manifold_lab"] == __import__("manifold_lab").__version__
    True
    """
    from manifold_lab import __version__

    found = {
        "Python": sys.version.split()[0],
        "platform": platform.platform(),
        "manifold_lab": __version__,
    }
    found |= {name: _installed(name) or "missing" for name in _REQUIRED}
    found |= {name: version for name in _OPTIONAL if (version := _installed(name))}
    return found | _kernels()


def show_versions():
    """Print the versions and the kernels in use; paste it into a report of a fault.

    Examples
    --------
    >>> show_versions()  # doctest: +ELLIPSIS
    Python        3...
    """
    found = versions()
    width = max(map(len, found))
    for name, version in found.items():
        print(f"{name:<{width}}  {version}")


def _installed(name):
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _kernels():
    try:
        from manifold_lab._kernels import cpu, levels, threads

        many = str(threads.requested()) if cpu.has_openmp() else "1 (built without OpenMP)"
        return {"CPU kernels": levels.level(), "threads": many}
    except Exception as error:  # this must answer above all when the kernels do not load
        return {"CPU kernels": f"not usable: {type(error).__name__}: {error}"}
