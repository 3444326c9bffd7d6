"""Build the compiled kernels; all metadata is in pyproject.toml.

Environment: ``MANIFOLD_LAB_DEBUG=1`` builds with bounds checks (baseline only),
``MANIFOLD_LAB_NO_OPENMP=1`` builds serial kernels.
"""

import os
import platform
import tempfile
from pathlib import Path
from typing import NamedTuple

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DEBUG = os.environ.get("MANIFOLD_LAB_DEBUG") == "1"
OPENMP = os.environ.get("MANIFOLD_LAB_NO_OPENMP") != "1"
CORES = os.cpu_count() or 1


class Kernel(NamedTuple):
    """One .pyx file; ``levels`` if it gains from wider instructions.

    ``rounds`` if every product must be rounded before it is added: the same bits in loops that
    the compiler arranges differently, and at every level.
    """

    name: str
    levels: bool = False
    rounds: bool = False


KERNELS = (
    Kernel("cpu"),
    Kernel("lapack"),
    Kernel("dijkstra"),
    Kernel("distances", levels=True),
    Kernel("floyd", levels=True),
    Kernel("forest"),
    Kernel("scatter", levels=True),
    Kernel("neighbors", levels=True),
    Kernel("ranking", levels=True, rounds=True),
    Kernel("tree", levels=True, rounds=True),
    Kernel("stretch"),
    Kernel("sweep", levels=True),
    Kernel("tridiagonal", levels=True),
)

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": DEBUG,
    "initializedcheck": DEBUG,
    "overflowcheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "freethreading_compatible": True,
}

# instruction level -> compile arguments; "" is what every CPU of the platform runs
LEVELS = {
    "": [],
    "v3": ["-march=x86-64-v3"],
    "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
}
OPENMP_FLAGS = (  # (compile, link), first that works
    (["-fopenmp"], ["-fopenmp"]),
    (["-Xpreprocessor", "-fopenmp"], ["-lomp"]),
    (["/openmp"], []),
)


def extensions():
    """Return one Extension a kernel and instruction level, cythonized level by level."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    built = []
    for level in LEVELS if x86 and not DEBUG else [""]:
        package = "manifold_lab._kernels" + (f".{level}" if level else "")
        kernels = [kernel for kernel in KERNELS if kernel.levels or not level]
        modules = [
            Extension(
                f"{package}.{kernel.name}",
                [f"manifold_lab/_kernels/{kernel.name}.pyx"],
                extra_compile_args=list(LEVELS[level]),
            )
            for kernel in kernels
        ]
        built += cythonize(
            modules,
            build_dir=f"build/cython{'-debug' if DEBUG else ''}/{level or 'baseline'}",
            compiler_directives=DIRECTIVES,
            force=DEBUG,
            quiet=True,
        )
    return built


class Build(build_ext):
    """Try each flag once, drop what this compiler lacks, then build side by side."""

    def build_extensions(self):
        msvc = self.compiler.compiler_type == "msvc"
        optimise = ["/O2"] if msvc else ["-O1" if DEBUG else "-O3"]
        flags = (pair for pair in OPENMP_FLAGS if OPENMP and self.compiles(*pair))
        compile_openmp, link_openmp = next(flags, ([], []))
        levels = {name: not args or self.compiles(args, []) for name, args in LEVELS.items()}
        rounds = {kernel.name: kernel.rounds for kernel in KERNELS}
        self.extensions = [ext for ext in self.extensions if levels[level_of(ext)]]
        for ext in self.extensions:
            ext.extra_compile_args += optimise + compile_openmp
            ext.extra_link_args += link_openmp
            if rounds[ext.name.split(".")[-1]] and not msvc:  # msvc does not fuse by itself
                ext.extra_compile_args.append("-ffp-contract=off")
        self.parallel = CORES
        # files are newer or older, flags are not: a debug build must not pass for a plain one
        stamp = Path(self.build_temp, "flags.txt")
        settings = f"{DIRECTIVES} {optimise} {compile_openmp}"
        self.force = self.force or not stamp.exists() or stamp.read_text() != settings
        stamp.unlink(missing_ok=True)
        super().build_extensions()
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(settings)

    def compiles(self, compile_args, link_args):
        """True if a small program compiles and links with these arguments."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "probe.c")
            source.write_text("int main(void) { return 0; }\n")
            try:
                objects = self.compiler.compile(
                    [str(source)], output_dir=folder, extra_postargs=compile_args
                )
                self.compiler.link_executable(
                    objects, "probe", output_dir=folder, extra_postargs=link_args
                )
            except Exception:  # each compiler class raises its own errors
                return False
        return True


def level_of(ext):
    """Return the instruction level in an extension's name, "" for the baseline."""
    parts = ext.name.split(".")
    return parts[2] if parts[2] in LEVELS else ""


setup(ext_modules=extensions(), cmdclass={"build_ext": Build})
