"""A plugin whose own dependency is missing."""

import a_package_nobody_has  # noqa: F401
