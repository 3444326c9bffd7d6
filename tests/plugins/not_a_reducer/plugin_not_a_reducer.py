"""Entry points that name the wrong kind of thing."""

from manifold_lab.base import Reducer


class Plain:
    """Not a reducer."""


def function():
    """Not even a class."""


class ManyFaults(Reducer):
    """A reducer with everything wrong at once."""

    supervised = "yes"
    family = None
    api_version = "1"

    def __init__(self, k, *rest, **options):
        self.k = k
