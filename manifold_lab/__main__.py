"""``python -m manifold_lab`` is the command line."""

from manifold_lab.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
