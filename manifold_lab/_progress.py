"""Say how far long work has come: a bar by rich if it is installed, else plain lines on stderr."""

import contextlib
import sys
import time

_SECONDS = 1.0  # between two plain lines


@contextlib.contextmanager
def progress(total, label, enabled):
    """Give a function that is called with the number of steps done since its last call.

    Parameters
    ----------
    total : int
        Steps in all.
    label : str
        What is being done.
    enabled : bool
        Without it, the function does nothing and nothing is imported.

    Examples
    --------
    >>> with progress(3, "counting", enabled=False) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if not enabled:
        yield lambda steps: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield _Lines(total, label).advance
        return
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.advance(task, steps)


class _Lines:
    """Print a line at the first step, at the last, and now and then between."""

    def __init__(self, total, label):
        self.total, self.label, self.done = total, label, 0
        self.started, self.said = time.monotonic(), -_SECONDS

    def advance(self, steps):
        self.done += steps
        now = time.monotonic() - self.started
        if now - self.said >= _SECONDS or self.done >= self.total:
            self.said = now
            share = self.done / self.total if self.total else 1.0
            print(f"{self.label}: {share:.0%} ({now:.1f} s)", file=sys.stderr, flush=True)
