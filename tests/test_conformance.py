"""Every built-in method keeps every promise of the kit that plugin authors run."""

import pytest

import manifold_lab as ml

BUILT_IN = [record.name for record in ml.available() if record.origin == "builtin"]
CHECKS = [(name, check) for name in BUILT_IN for check in ml.testing.checks(ml.get(name))]


@pytest.mark.parametrize(("name", "check"), CHECKS, ids=str)
def test_conformance(name, check):
    check()
