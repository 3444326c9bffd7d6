"""The command line: ``manifold-lab`` or ``python -m manifold_lab``.

A command is a function of the parsed arguments that returns the exit code, listed in ``COMMANDS``
beside the function that declares its options. Exit codes: 0 done, 1 it failed, 2 it was asked the
wrong way. Errors are one line on stderr with the remedy; ``--debug`` shows the traceback instead.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import sys

from manifold_lab import __version__
from manifold_lab.errors import ManifoldLabError

PROGRAM = "manifold-lab"


def main(argv=None):
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process if None.

    Examples
    --------
    >>> main(["--version"])  # doctest: +ELLIPSIS
    manifold-lab ...
    0
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        args = _parser().parse_args(argv)
        code = args.run(args)
        sys.stdout.flush()  # a closed pipe shows here, not when the interpreter ends
        return code
    except _UsageError as error:
        return _complain(str(error), 2)
    except SystemExit as end:  # argparse, after --help and --version
        return end.code or 0
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except BrokenPipeError:  # the reader, for instance head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in argv:
            raise
        return _complain(_explained(error), 1)


def _explained(error):
    if isinstance(error, ManifoldLabError | OSError):
        return str(error)
    return f"{type(error).__name__}: {error}. Run it again with --debug to see where, and report it"


def _complain(message, code):
    print(f"{PROGRAM}: {' '.join(message.split())}", file=sys.stderr)
    return code


# ------------------------------------------------------------------ commands


def methods(args):
    """List every method installed, plugins included."""
    from manifold_lab.registry import available

    records = available()
    if args.json:
        return _print_json(records)
    flags = ["supervised", "transforms", "inverts", "partial_fit"]
    heads = ["name", "aliases", "family", *flags, "from", "summary"]
    rows = [
        [
            r.name,
            ", ".join(r.aliases),
            r.family,
            *(getattr(r, flag) for flag in flags),
            r.distribution if r.origin == "plugin" else r.origin,
            r.summary or r.status,
        ]
        for r in records
    ]
    _print_table(heads, rows)
    return 0


def plugins(args):
    """Try to load every plugin and say which of them work."""
    from manifold_lab.registry import GROUP, SWITCH, check_plugins, switched_off

    with contextlib.redirect_stdout(sys.stderr):  # what plugins print is not our output
        records = check_plugins()
    failed = [record for record in records if record.status.startswith("failed")]
    if args.json:
        _print_json(records)
    elif records:
        heads = ["name", "distribution", "version", "status"]
        _print_table(heads, [[r.name, r.distribution, r.version, _advised(r)] for r in records])
    elif switched_off():
        print(f"Plugins are switched off by {SWITCH}; unset it to look for them.")
    else:
        print(f"No plugins are installed: no package offers entry points in the group {GROUP}.")
    if failed:
        names = ", ".join(record.qualified for record in failed)
        return _complain(
            f"{len(failed)} of {len(records)} plugins cannot be loaded: {names}. "
            "Upgrade or uninstall the distribution, or report it to its authors",
            1,
        )
    return 0


def _advised(record):
    if record.status in ("shadowed", "ambiguous"):
        return f'{record.status}: use get("{record.qualified}")'
    return record.status


def demo(args):
    """Embed example data with every method and write the pictures to one HTML file."""
    from manifold_lab.tools.demo import run

    return run(output=args.output, n_samples=args.n_samples, seed=args.seed)


# ------------------------------------------------------------------ options


class _UsageError(Exception):
    """The arguments make no sense."""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise _UsageError(f"{message}. See `{self.prog} --help`")


def _int_from(low):
    def convert(text):
        value = int(text)
        if value < low:
            raise argparse.ArgumentTypeError(f"must be at least {low}, got {value}")
        return value

    convert.__name__ = "int"  # argparse prints it: "invalid int value: 'many'"
    return convert


def _json_option(parser):
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _demo_options(parser):
    parser.add_argument(
        "--output",
        default="manifold_lab_demo.html",
        metavar="FILE",
        help="file to write (default: %(default)s)",
    )
    parser.add_argument(
        "--n-samples",
        type=_int_from(2),
        default=1000,
        metavar="N",
        help="points per data set (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=_int_from(0),
        default=None,
        metavar="S",
        help="seed of the data and of the methods that draw numbers (default: a fixed one)",
    )


COMMANDS = {  # name -> (function, options, examples)
    "demo": (demo, _demo_options, ["demo", "demo --n-samples 300 --output small.html"]),
    "methods": (methods, _json_option, ["methods", "methods --json"]),
    "plugins": (plugins, _json_option, ["plugins", "plugins --json"]),
}


def _parser():
    """Return the parser of the whole command line, built from ``COMMANDS``."""
    every = _Parser(add_help=False)
    every.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show the traceback of an error",
    )
    parser = _Parser(
        prog=PROGRAM,
        description="Dimensionality reduction and metric learning.",
        epilog=_examples([lines[0] for _, _, lines in COMMANDS.values()]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[every],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (function, options, lines) in COMMANDS.items():
        text = function.__doc__.splitlines()[0]
        command = commands.add_parser(
            name,
            help=text,
            description=text,
            epilog=_examples(lines),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[every],
            allow_abbrev=False,
        )
        options(command)
        command.set_defaults(run=function)
    return parser


def _examples(lines):
    return "\n".join(["examples:", *(f"  {PROGRAM} {line}" for line in lines)])


# ------------------------------------------------------------------ output


def _print_json(records):
    print(json.dumps([dataclasses.asdict(record) for record in records], indent=2))
    return 0


def _print_table(heads, rows):
    """Print a table: rich's on a terminal that has it, plain text in a pipe or without it."""
    from manifold_lab._entries import format_table

    if not (sys.stdout.isatty() and _rich_table(heads, rows)):
        print(format_table(heads, rows))


def _rich_table(heads, rows):
    from manifold_lab._entries import in_words

    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(*heads)
    for row in rows:
        table.add_row(*(Text(in_words(cell)) for cell in row))
    Console().print(table)
    return True
