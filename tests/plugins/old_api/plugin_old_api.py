"""Plugins written for an interface long gone, and for one yet to come."""

from manifold_lab.base import Reducer


class Old(Reducer):
    """Written long ago."""

    api_version = 0

    def _fit(self, X, y):
        return X


class New(Old):
    """Written for a later manifold_lab."""

    api_version = 99
