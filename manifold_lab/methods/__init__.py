"""The table of built-in methods: strings only, so that listing them imports none of them."""

from typing import NamedTuple


class Builtin(NamedTuple):
    """One built-in method, described without importing it; a test compares it with the class."""

    target: str
    summary: str
    family: str
    aliases: tuple[str, ...] = ()
    supervised: bool = False
    transforms: bool = True
    inverts: bool = False
    partial_fit: bool = False


BUILTINS = {
    "pca": Builtin(
        "manifold_lab.methods.pca:PCA",
        "Principal component analysis: the directions of largest variance.",
        "linear",
        inverts=True,
        partial_fit=True,
    ),
}
