"""Run Python in a child process: its own environment, limits and signals, and never a hang."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import manifold_lab

HOME = Path(manifold_lab.__file__).parents[1]


def run(script, *arguments, env=None, timeout=100):
    """Run ``script``, a path or Python source, in a fresh interpreter and return what it prints.

    ``env`` is added to this process's environment; a value of None removes the name. The child
    and all it started are killed after ``timeout`` seconds: a forked grandchild would keep the
    pipes open, so killing the child alone would not end the wait.
    """
    script = ["-c", textwrap.dedent(script)] if isinstance(script, str) else [str(script)]
    return command(
        [sys.executable, *script, *map(str, arguments)],
        env={"PYTHONPATH": str(HOME), **(env or {})},
        timeout=timeout,
    )


def command(line, *, env=None, cwd=None, timeout=100):
    """Run a command in a process group of its own; return its output, fail with all it printed."""
    together = {**os.environ, **(env or {})}
    child = subprocess.Popen(
        list(map(str, line)),
        env={name: value for name, value in together.items() if value is not None},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL) if hasattr(os, "killpg") else child.kill()
        out, err = child.communicate()
        raise AssertionError(f"no end after {timeout} s\n{out}\n{err}") from None
    assert child.returncode == 0, f"exit code {child.returncode}\n{out}\n{err}"
    return out
