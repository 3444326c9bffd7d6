"""Us against whoever is installed: ``python -m asv_benchmarks.versus``.

Prints, for every row, the best peer's time over ours, and writes the same as JSON.
"""

import argparse
import datetime as dt
import importlib.metadata
import json
import platform
import subprocess
import sys
from pathlib import Path

import manifold_lab
from asv_benchmarks.contest import contest
from asv_benchmarks.rows import collect
from manifold_lab._entries import format_table

HEADS = ("work", "ours", "best peer", "its time", "ratio", "goal", "verdict")

# ------------------------------------------------------------------ where and with what


def machine():
    """Return what the numbers depend on: processor, cores, instruction level, system."""
    from manifold_lab._kernels import levels, threads

    return {
        "cpu": _cpu_model(),
        "cores": threads.cores(),
        "level": levels.level(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _cpu_model():
    if sys.platform == "darwin":
        return _output("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def versions(rows):
    """Return the versions of Python, of what we stand on and of the peers installed."""
    found = {"python": platform.python_version(), "manifold-lab": manifold_lab.__version__}
    for name in ("numpy", "scipy"):
        found[name] = importlib.metadata.version(name)
    for row in rows:
        for peer in row.peers.values():
            if (version := peer.version()) is not None:
                found[peer.distribution] = version
    return found


def commit():
    """Return the commit of the checkout, with "+" if files differ from it; None if unknown."""
    name = _output("git", "rev-parse", "HEAD")
    changed = name and _output("git", "status", "--porcelain", "--untracked-files=no")
    return f"{name}+" if changed else name


def _output(*command):
    folder = Path(__file__).parent
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip() or None


# ------------------------------------------------------------------ the table


def cells(outcome):
    """Return one outcome as the texts of its line."""
    peers = {peer["name"]: peer for peer in outcome["peers"]}
    best = peers.get(outcome["peer"])
    return (
        outcome["name"],
        in_time(outcome["seconds"]),
        _title(best) if best else "none that is right" if peers else "none installed",
        in_time(best["seconds"]) if best else "",
        f"{outcome['ratio']:.2f}" if best else "",
        f"{outcome['goal']:g}",
        outcome["verdict"],
    )


def _title(peer):
    return f"{peer['name']} {peer['version']}" + ("" if peer["exact"] else " (approximate)")


def in_time(seconds):
    """Return a duration as text.

    Examples
    --------
    >>> in_time(0.02134), in_time(1.5), in_time(None)
    ('21.3 ms', '1.50 s', '')
    """
    if seconds is None:
        return ""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def notes(outcomes):
    """Return a line for each result that is not right or is missing."""
    lines = []
    for outcome in outcomes:
        if outcome["problem"]:
            lines.append(f"{outcome['name']}: ours: {outcome['problem']}")
        lines += [
            f"{outcome['name']}: {peer['name']}, not counted: {peer['problem']}"
            for peer in outcome["peers"]
            if peer["problem"]
        ]
    return lines


def show(outcomes):
    """Print the table: by rich on a terminal that has it, else as plain text."""
    lines = [cells(outcome) for outcome in outcomes]
    try:
        if not sys.stdout.isatty():  # rich would fold the lines of a file
            raise ImportError
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        print(format_table(HEADS, lines))
    else:
        table = Table(*HEADS)
        colours = {"ok": "green", "wrong": "red", "failed": "red", "short": "yellow"}
        for line in lines:
            table.add_row(*line, style=colours.get(line[-1]))
        Console().print(table)
    for note in notes(outcomes):
        print(note)


# ------------------------------------------------------------------ the command


def chosen(words):
    """Return the rows of the modules that ``words`` name, or whose name contains such a word.

    Without words, all of them.

    Raises
    ------
    ValueError
        A word means no row.
    """
    modules = collect()
    every = [row for rows in modules.values() for row in rows]
    names = set()
    for word in map(str.lower, words):
        found = modules.get(word) or [row for row in every if word in row.name.lower()]
        if not found:
            known = "; ".join(row.name for row in every)
            raise ValueError(f"no row matches {word!r}. Rows: {known}.")
        names |= {row.name for row in found}
    return [row for row in every if not words or row.name in names]


def main(argv=None):
    """Run the command line; return 1 if a result of ours is not right, else 0."""
    parser = argparse.ArgumentParser("python -m asv_benchmarks.versus", description=__doc__)
    parser.add_argument("--rows", default="", help="only these, such as pca,import")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results here")
    parser.add_argument("--quick", action="store_true", help="tiny data, one round: a trial run")
    parser.add_argument("--repeat", type=int, metavar="N", help="rounds, by default 7")
    options = parser.parse_args(argv)
    if options.repeat is not None and options.repeat < 1:
        parser.error(f"--repeat must be at least 1. Got {options.repeat}.")
    try:
        rows = chosen([word for word in options.rows.split(",") if word])
    except ValueError as error:
        parser.error(str(error))
    repeat = options.repeat or (1 if options.quick else 7)
    outcomes = []
    for row in rows:
        print(f"{row.name} ...", file=sys.stderr, flush=True)
        outcomes.append(contest(row, repeat=repeat, quick=options.quick))
    report = {
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "quick": options.quick,
        "machine": machine(),
        "versions": versions(rows),
        "rows": outcomes,
    }
    show(outcomes)
    where = report["machine"]
    print(f"{where['cpu']}, {where['cores']} cores, kernels for {where['level']}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(any(outcome["verdict"] in ("wrong", "failed") for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
